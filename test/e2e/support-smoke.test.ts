/** Proves the harness itself: real Pi of both lines, real Claude Code, scripted model. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { CLAUDE_VERSION, startRawClaude } from "../support/claude.ts";
import { bash, text, toolUse } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { startPi } from "../support/pi.ts";
import { runPrint } from "../support/pi-print.ts";
import { PI_LINES, preparePi, skipReason } from "../support/pi-setup.ts";
import { assertNoneLeft, isAlive, processesWithMark } from "../support/processes.ts";
import { startTmux, tmuxSkipReason } from "../support/tmux.ts";
import { createLab } from "../support/workspace.ts";

const LAB_EXTENSION = fileURLToPath(new URL("../support/fixtures/lab-extension", import.meta.url));

for (const line of PI_LINES) {
  const skip = (await skipReason(line)) ?? false;

  describe(`Pi ${line} under the driver`, { skip }, () => {
    test("answers a command, shows its UI, takes a dialog's answer and leaves nothing behind", async (t) => {
      const lab = await createLab(t);
      const modelServer = await startModelServer();
      lab.defer(() => modelServer.close());
      const cwd = await lab.repo({});
      const pi = await startPi({
        lab,
        modelServer,
        line,
        cwd,
        extensionPath: LAB_EXTENSION,
        onDialog: (dialog) => ({ value: dialog.options?.find((option) => option.startsWith("Approve")) ?? "" }),
      });
      assert.deepEqual((await pi.run("/lab echo a b --json")).words, ["a", "b"]);
      assert.equal((await pi.run("/lab ask --json")).chosen, "Approve it");
      assert.equal(pi.status("lab"), "asking");
      assert.deepEqual(pi.widget("lab"), ["line one", "line two"]);
      assert.deepEqual(pi.openDialogs(), []);
      assert.deepEqual(await pi.runForPeople("/lab say hello people"), ["hello people"]);
      assert.ok(processesWithMark(lab.mark).some((found) => found.pid === pi.pid));
      assert.equal((await pi.quit()).code, 0);
      assert.equal(isAlive(pi.pid), false);
      await assertNoneLeft(lab.mark, 5_000);
      assert.deepEqual(modelServer.requests, []);
    });

    test("gives interleaved answers to the commands that they belong to", async (t) => {
      const lab = await createLab(t);
      const modelServer = await startModelServer();
      lab.defer(() => modelServer.close());
      const pi = await startPi({ lab, modelServer, line, cwd: lab.home, extensionPath: LAB_EXTENSION });
      const first = pi.run("/lab later t-1 --json");
      const second = pi.run("/lab later t-2 --json");
      await pi.run("/lab release t-2 --json");
      assert.equal((await second).taskId, "t-2");
      await pi.run("/lab release t-1 --json");
      assert.equal((await first).taskId, "t-1");
      assert.deepEqual(pi.unclaimed, []);
    });

    test("makes an extension's error loud", async (t) => {
      const lab = await createLab(t);
      const modelServer = await startModelServer();
      lab.defer(() => modelServer.close());
      const pi = await startPi({ lab, modelServer, line, cwd: lab.home, extensionPath: LAB_EXTENSION });
      await assert.rejects(pi.run("/lab explode --json"), /no word "explode"/);
      await assert.rejects(pi.quit(), /Extension errors/);
      assert.equal(pi.takeExtensionErrors().length, 1);
    });

    test("notices at once that a command is unknown", async (t) => {
      const lab = await createLab(t);
      const modelServer = await startModelServer();
      lab.defer(() => modelServer.close());
      modelServer.script("pi", [text("What do you mean?")]);
      const pi = await startPi({ lab, modelServer, line, cwd: lab.home, extensionPath: LAB_EXTENSION });
      await assert.rejects(pi.run("/nobody knows --json"), /is the extension loaded/);
    });

    test("runs an SDK session that makes one decision on the scripted model", async (t) => {
      const lab = await createLab(t);
      const modelServer = await startModelServer();
      lab.defer(() => modelServer.close());
      modelServer.script("decider", [toolUse("decide", { decision: "approve", reason: "harmless" })]);
      const pi = await startPi({ lab, modelServer, line, cwd: lab.home, extensionPath: LAB_EXTENSION });
      const answer = await pi.run("/lab decide --json");
      assert.deepEqual(answer.decisions, [{ decision: "approve", reason: "harmless" }]);
      assert.deepEqual(
        modelServer.requests.map((request) => [request.kind, request.toolNames, request.lastUserText()]),
        [["decider", ["decide"], "kind: tool\nMay it run `ls`?"]],
      );
      assert.ok(modelServer.requests[0]?.body.system.includes("one call of decide"));
    });

    test("draws its text interface in a terminal", { skip: tmuxSkipReason() ?? false }, async (t) => {
      const lab = await createLab(t);
      const modelServer = await startModelServer();
      lab.defer(() => modelServer.close());
      const cwd = await lab.repo({});
      const launch = await preparePi({ lab, modelServer, line, cwd, extensionPath: LAB_EXTENSION });
      const terminal = await startTmux({ lab, ...launch, cwd });
      await terminal.waitFor(/scripted/, 30_000);
      await terminal.type("/lab ask");
      await terminal.key("Enter");
      await terminal.waitFor(/Which one\?[\s\S]*Deny it/, 15_000);
      await terminal.key("Down", "Enter");
      await terminal.waitFor(/"chosen":"Deny it"/, 15_000);
      await terminal.kill();
      await assertNoneLeft(lab.mark, 5_000);
    });

    test("runs in print mode to its exit code", async (t) => {
      const lab = await createLab(t);
      const modelServer = await startModelServer();
      lab.defer(() => modelServer.close());
      modelServer.script("pi", [text("printed ", "in pieces")]);
      const run = await runPrint({
        lab,
        modelServer,
        line,
        cwd: lab.home,
        extensionPath: LAB_EXTENSION,
        prompt: "Say it",
      });
      assert.deepEqual([run.code, run.stdout.trim()], [0, "printed in pieces"]);
      assert.equal(modelServer.of("pi")[0]?.lastUserText(), "Say it");
    });

    test("dies by SIGKILL when told to", async (t) => {
      const lab = await createLab(t);
      const modelServer = await startModelServer();
      lab.defer(() => modelServer.close());
      const pi = await startPi({ lab, modelServer, line, cwd: lab.home, extensionPath: LAB_EXTENSION });
      const open = assert.rejects(pi.run("/lab later t-1 --json"), /Pi ended \(SIGKILL\)/);
      assert.equal((await pi.kill()).signal, "SIGKILL");
      await open;
      await assertNoneLeft(lab.mark, 5_000);
    });
  });
}

describe("Claude Code against the scripted model", () => {
  test("runs a scripted turn whose tool call asks the hook first", async (t) => {
    const lab = await createLab(t);
    const modelServer = await startModelServer();
    lab.defer(() => modelServer.close());
    modelServer.script("main", [bash("ls"), text("Seen.")]);
    const cwd = await lab.repo({ "seen.txt": "x\n" });
    const hooks: unknown[] = [];
    const claude = startRawClaude({
      lab,
      modelUrl: modelServer.url,
      cwd,
      onHook: (input) => {
        hooks.push(input.tool_name);
        return { permissionDecision: "allow", permissionDecisionReason: "test" };
      },
    });
    await claude.initialize();
    claude.prompt("Look around");
    const result = await claude.waitFor((message) => message.type === "result", 60_000, "the result");
    assert.deepEqual([result.subtype, result.is_error, result.result], ["success", false, "Seen."]);
    const init = claude.messages.find((message) => message.subtype === "init");
    assert.equal(init?.claude_code_version, CLAUDE_VERSION);
    assert.deepEqual(hooks, ["Bash"]);
    const main = modelServer.of("main");
    assert.deepEqual(
      main.map((request) => request.userTexts()),
      [["Look around"], ["Look around"]],
    );
    assert.deepEqual(
      main[1]?.newToolResults().map((found) => [found.isError, found.text]),
      [[false, "seen.txt"]],
    );
    assert.deepEqual(modelServer.unscripted, []);
    assert.deepEqual(await claude.end(), { code: 0, signal: null });
    await assertNoneLeft(lab.mark, 5_000);
  });

  test("tells a subagent's requests from the main loop's", async (t) => {
    const lab = await createLab(t);
    const modelServer = await startModelServer();
    lab.defer(() => modelServer.close());
    const input = {
      description: "look",
      prompt: "Look for it",
      subagent_type: "general-purpose",
      run_in_background: false,
    };
    modelServer.script("main", [toolUse("Agent", input), text("Both done."), text("Heard.")]);
    modelServer.script("subagent", [text("Found it.")]);
    const claude = startRawClaude({ lab, modelUrl: modelServer.url, cwd: await lab.repo({}) });
    await claude.initialize();
    claude.prompt("Delegate");
    const request = await modelServer.waitForRequest((seen) => seen.kind === "subagent", 60_000, "the subagent");
    assert.deepEqual(request.userTexts(), ["Look for it"]);
    assert.ok(request.agentId);
    assert.equal(request.sessionId, modelServer.of("main")[0]?.sessionId);
    await claude.waitFor((message) => message.type === "result", 60_000, "the result");
    assert.equal((await claude.end()).code, 0);
  });
});
