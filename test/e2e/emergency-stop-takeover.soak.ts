/** In a real terminal: a person drives the real Claude that they took over, and `--all stop` ends it with everything else. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { buildControl } from "../../scripts/build-control.ts";
import { answerFirstStart } from "../support/claude.ts";
import { bash, text } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { PI_LINES, preparePi, skipReason } from "../support/pi-setup.ts";
import { assertNoneLeft, isAlive, processesWithMark } from "../support/processes.ts";
import { readTask } from "../support/task.ts";
import { startTmux, tmuxSkipReason } from "../support/tmux.ts";
import { until } from "../support/until.ts";
import { createLab, type Lab } from "../support/workspace.ts";

const WAIT = 90_000;

for (const line of PI_LINES) {
  const skip = tmuxSkipReason() ?? (await skipReason(line)) ?? false;
  test(`one command ends the Claude that a person took over, and Pi has its screen back (Pi ${line})`, {
    skip,
  }, async (t) => {
    const lab = await createLab(t);
    const modelServer = await startModelServer();
    lab.defer(() => modelServer.close());
    modelServer.script("main", (request) =>
      request.userTexts().some((said) => said.includes("Hold it")) && request.toolResults().length === 0
        ? bash("sleep 611")
        : text("The turn is over."),
    );
    const cwd = await lab.repo({ "a.txt": "hello\n" });
    await answerFirstStart(lab, cwd);
    const command = join(lab.tmp, "control.mjs");
    await buildControl(command);
    const terminal = await startTmux({ lab, ...(await preparePi({ lab, modelServer, line, cwd })), cwd });
    const enter = async (typed: string): Promise<void> => {
      await terminal.type(typed);
      await terminal.waitFor(new RegExp(`${typed.replace(/[/[\]"]/g, "\\$&")}\\s*$`, "m"), WAIT);
      await terminal.key("Enter");
    };
    await terminal.waitFor(/scripted/, WAIT);
    await enter('/supervise start Fix the parser --verify "true"');
    const began = await terminal.waitFor(/Task (t-\w+) has begun in/, WAIT);
    const taskId = /Task (t-\w+) has begun in/.exec(began)?.[1] ?? "";
    await terminal.waitFor(/supervise: waits for your verify/, WAIT);
    await enter(`/supervise takeover ${taskId}`);
    await terminal.waitFor(/Claude Code v2[\s\S]*The turn is over\.[\s\S]*❯/, WAIT);
    const personsOwn = claudes(lab);
    assert.ok(personsOwn.length > 0, "the person's Claude runs");

    const stop = await run(command, lab);
    assert.equal(stop.exitCode, 0, JSON.stringify(stop.json));
    assert.ok(!personsOwn.some((pid) => isAlive(pid)), "it is gone when the command has answered");
    await assertNoneLeft(lab.mark, 5_000, ours(lab, terminal.pid));
    const records = stop.json["records"] as { identity: string; state: string; remaining: unknown[] }[];
    assert.deepEqual(
      records.map(({ identity, state, remaining }) => [identity, state, remaining]),
      [[taskId, "stopped", []]],
    );
    const restored = await terminal.waitFor(/You have left Claude/, WAIT);
    assert.doesNotMatch(restored, /Claude Code v2/, "nothing of Claude's screen stays");
    await until(async () => (await readTask(lab.stateDir, taskId))["state"] === "stopped", WAIT, "the record");
    await enter(`/supervise handback ${taskId}`);
    await terminal.waitFor(/emergency stop of everything is in force/, WAIT);
    await enter("/quit");
    await until(() => !isAlive(terminal.pid), WAIT, "Pi's end");
  });
}

/** Claudes of the lab by their session's argument. */
function claudes(lab: Lab): number[] {
  return processesWithMark(lab.mark).flatMap(({ pid, command }) => (/claude.* --resume=/.test(command) ? [pid] : []));
}

/** Pi, and what it stands on: the terminal's own processes. */
function ours(lab: Lab, pi: number): number[] {
  const rows = processesWithMark(lab.mark);
  const isAbove = (pid: number): boolean => pid === pi || rows.some((one) => one.ppid === pid && isAbove(one.pid));
  return rows.filter(({ pid, command }) => isAbove(pid) || /tmux/.test(command)).map(({ pid }) => pid);
}

async function run(command: string, lab: Lab): Promise<{ exitCode: number | null; json: Record<string, unknown> }> {
  const child = spawn(process.execPath, [command, "--all", "stop", "--reason", "x", "--json"], {
    env: { PATH: lab.env["PATH"], HOME: lab.home, PI_CLAUDE_SUPERVISOR_STATE_DIR: lab.stateDir },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let out = "";
  child.stdout.on("data", (chunk: Buffer) => {
    out += chunk;
  });
  const exitCode = await new Promise<number | null>((resolve) => child.once("close", resolve));
  return { exitCode, json: JSON.parse(out) as Record<string, unknown> };
}
