/** In a real terminal: the wheel is taken and given back, and a task survives what people do to Pi's sessions. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { answerFirstStart } from "../support/claude.ts";
import { text } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { PI_LINES, preparePi, skipReason } from "../support/pi-setup.ts";
import { isAlive } from "../support/processes.ts";
import { readEvents } from "../support/task.ts";
import { startTmux, tmuxSkipReason } from "../support/tmux.ts";
import { until } from "../support/until.ts";
import { createLab } from "../support/workspace.ts";

const WAIT = 60_000;

for (const line of PI_LINES) {
  const skip = tmuxSkipReason() ?? (await skipReason(line)) ?? false;
  test(`takeover into the real Claude and back, over /reload, /fork and /resume (Pi ${line})`, { skip }, async (t) => {
    const lab = await createLab(t);
    const modelServer = await startModelServer();
    lab.defer(() => modelServer.close());
    modelServer.script("main", [text("First turn is over."), text("The person was answered."), text("Back at work.")]);
    modelServer.script("pi", [text("Hello from Pi."), text("And again.")]);
    const cwd = await lab.repo({ "a.txt": "hello\n" });
    await answerFirstStart(lab, cwd);
    const terminal = await startTmux({ lab, ...(await preparePi({ lab, modelServer, line, cwd })), cwd });
    const enter = async (typed: string) => {
      await terminal.type(typed);
      await terminal.waitFor(new RegExp(`^${typed.replace(/[/[\]"]/g, "\\$&")}\\s*$`, "m"), WAIT);
      await terminal.key("Enter");
    };
    const chip = /supervise: waits for your verify/;
    await terminal.waitFor(/scripted/, WAIT);

    await enter("hello Pi");
    await terminal.waitFor(/Hello from Pi\./, WAIT);
    await enter('/supervise start Fix the parser --verify "true"');
    const began = await terminal.waitFor(/Task (t-\w+) has begun in/, WAIT);
    const taskId = /Task (t-\w+) has begun in/.exec(began)?.[1] ?? "";
    await terminal.waitFor(chip, WAIT);

    await enter("/reload");
    await terminal.waitFor(/Reloaded/i, WAIT);
    await terminal.waitFor(chip, WAIT);
    await enter("/fork");
    await terminal.waitFor(/Fork from Message|Select a user message/, WAIT);
    await terminal.key("Enter");
    await terminal.waitFor(/Forked to new session|Branched to new session|Forked/i, WAIT);
    await terminal.waitFor(chip, WAIT);
    await terminal.key("C-c");
    await enter("/resume");
    await terminal.waitFor(/Resume Session/i, WAIT);
    await terminal.waitFor(/hello Pi/, WAIT);
    await terminal.key("Enter");
    await terminal.waitFor(/Resumed session/i, WAIT);
    await terminal.waitFor(chip, WAIT);
    const states = (await readEvents(lab.stateDir, taskId)).map((event) => event.type);
    assert.ok(!states.includes("owner.released"), "the task went on in the same process");
    assert.equal(states.filter((type) => type === "worker.spawning").length, 1);

    for (const [columns, rows] of [
      [80, 24],
      [200, 50],
      [120, 40],
    ] as const) {
      await terminal.resize(columns, rows);
      await terminal.waitFor(chip, WAIT);
      await terminal.key("M-s");
      await terminal.waitFor(new RegExp(`supervise · open tasks[\\s\\S]*→ ${taskId} [\\s\\S]*enter open`), WAIT);
      await terminal.key("Enter");
      const view = await terminal.waitFor(/supervise · task[\s\S]*timeline[\s\S]*turn\.result[\s\S]*esc back/, WAIT);
      assert.match(view, /failing rounds: 0 of 3/);
      assert.doesNotMatch(view, /supervise: waits|hello Pi/, "it covers the whole screen");
      await terminal.key("Escape");
      await terminal.waitFor(/supervise · open tasks/, WAIT);
      await terminal.key("Escape");
      const left = await terminal.waitFor(/supervise: waits for your verify/, WAIT);
      assert.doesNotMatch(left, /supervise · |timeline|esc close/, "nothing of it stays on the screen");
    }

    await enter(`/supervise takeover ${taskId}`);
    await terminal.waitFor(/Claude Code v2[\s\S]*First turn is over\.[\s\S]*❯/, WAIT);
    await terminal.type("Look around");
    await terminal.waitFor(/❯\sLook around/, WAIT);
    await terminal.key("Enter");
    await terminal.waitFor(/The person was answered\./, WAIT);
    await terminal.type("/exit");
    await terminal.waitFor(/❯\s\/exit/, WAIT);
    await terminal.key("Enter");
    await terminal.waitFor(/You have left Claude; task t-\w+ is still yours/, WAIT);
    const restored = await terminal.waitFor(/supervise: taken over/, WAIT);
    assert.doesNotMatch(restored, /Claude Code v2|❯/, "nothing of Claude's screen stays");

    await enter(`/supervise handback ${taskId} I only looked`);
    await terminal.waitFor(/session got 1\s+message of yours/, WAIT);
    await terminal.waitFor(chip, WAIT);
    const said = modelServer.of("main").at(-1)?.userTexts().join("\n") ?? "";
    assert.match(said, /Look around[\s\S]*A person has worked in this session[\s\S]*I only looked/);
    await enter(`/supervise verify ${taskId}`);
    await terminal.waitFor(/The verification passed/, WAIT);
    await enter("/quit");
    await until(() => !isAlive(terminal.pid), WAIT, "Pi's end");
    const types = (await readEvents(lab.stateDir, taskId)).map((event) => event.type);
    assert.deepEqual([types.includes("task.completed"), types.at(-1)], [true, "owner.released"]);
  });
}
