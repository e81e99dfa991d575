/** `/supervise estop`: the same stop as the command's, from inside Pi; lifted only by hand and only in the TUI. */
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, test } from "node:test";
import { readLatchFile } from "../../src/control/files.ts";
import { openControlFolder } from "../../src/control/folder.ts";
import { requestStop } from "../../src/control/request.ts";
import { ALL } from "../../src/control/set-latch.ts";
import { openPort } from "../../src/extension/pi-port.ts";
import { runCommand } from "../../src/extension/run.ts";
import { until } from "../support/until.ts";
import { type FakeMode, type FakeSession, fakeSession } from "./support/fake-pi.ts";
import { hubWith } from "./support/fake-supervisor.ts";

type Json = Record<string, unknown>;

const VARIABLE = "PI_CLAUDE_SUPERVISOR_STATE_DIR";
const known = process.env[VARIABLE];
const exitCode = process.exitCode;
let root = "";
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "pcs-estop-"));
  process.env[VARIABLE] = join(root, "state");
  /* No supervisor: this command needs none. */
  hubWith(undefined);
});
afterEach(() => {
  if (known === undefined) delete process.env[VARIABLE];
  else process.env[VARIABLE] = known;
  process.exitCode = exitCode;
  rmSync(root, { recursive: true, force: true });
});

function begin(input: string, mode: FakeMode): { session: FakeSession; done: Promise<string[]> } {
  const session = fakeSession(mode);
  const lines: string[] = [];
  const port = openPort(session.ctx, (line) => lines.push(line));
  const done = runCommand(`estop ${input}`, { cwd: root }, port).then(() => [
    ...session.notices.map((notice) => notice.text),
    ...lines,
  ]);
  return { session, done };
}

async function ask(input: string, mode: FakeMode = "rpc"): Promise<Json> {
  const [text = "", ...more] = await begin(`${input} --json`, mode).done;
  assert.deepEqual(more, []);
  return JSON.parse(text) as Json;
}

function latch() {
  const opened = openControlFolder();
  assert.ok(opened.ok);
  const reading = readLatchFile(opened.folder);
  if (reading.state !== "read") throw new Error(reading.state);
  return reading.value;
}

/** Types into the dialogs, in order. */
async function type(session: FakeSession, ...answers: (string | undefined)[]): Promise<void> {
  for (const [index, answer] of answers.entries()) {
    const dialog = await until(() => session.dialogs[index], 10_000, `dialog ${index}`);
    dialog.choose(answer);
  }
}

describe("estop status", () => {
  test("says that nothing stands where nothing ever ran, and makes nothing", async () => {
    const answer = await ask("status");
    assert.deepEqual(
      [answer["ok"], answer["inForce"], answer["epoch"], answer["records"], answer["scope"]],
      [true, false, 0, [], ALL],
    );
    assert.ok((answer["limits"] as string[]).length > 0);
    assert.equal(existsSync(join(root, "state")), false);
    const unknown = await ask("status t-nothing");
    assert.equal(unknown["ok"], false);
  });

  test("names a folder that can't be trusted instead of taking it for no stop", async () => {
    writeFileSync(join(root, "state"), "");
    const answer = await ask("status");
    assert.equal(answer["ok"], false, JSON.stringify(answer));
    assert.ok(String(answer["message"]).includes(join(root, "state")));
  });
});

describe("estop stop and pause", () => {
  for (const mode of ["tui", "rpc", "json", "print"] as const) {
    test(`stop everything in ${mode} mode, as a person's, and a pause does not lower that`, async () => {
      const answer = await ask("stop --reason Enough", mode);
      assert.deepEqual([answer["ok"], answer["exitCode"], answer["epoch"], answer["durable"]], [true, 0, 1, "full"]);
      const { state, reason, actor, cause } = latch();
      assert.deepEqual([state, reason, actor?.kind, cause], ["stopped", "Enough", "person", "operator"]);
      const pause = await ask("pause", mode);
      assert.deepEqual([pause["ok"], pause["reason"]], [false, "stop-in-force"]);
      assert.equal((await ask("status", mode))["inForce"], true);
    });
  }

  test("keep no secret that a reason holds, and refuse one that is not plain", async () => {
    const secret = `ghp_${Array.from({ length: 36 }, () => Math.floor(Math.random() * 36).toString(36)).join("")}`;
    assert.equal((await ask(`stop --reason ${secret}`))["ok"], true);
    assert.ok(!JSON.stringify(latch()).includes(secret));
    const bad = await ask("stop --reason a\u202eb");
    assert.deepEqual([bad["ok"], bad["reason"]], [false, "bad-reason"]);
    assert.equal(latch().epoch, 1);
  });

  const wrong = ["stop --all t-1", "stop --now --after-call", "stop ../x", "halt", "stop --wait soon"];
  for (const input of wrong) {
    test(`${input} is a mistake, and stops nothing`, async () => {
      assert.equal((await ask(input))["ok"], false);
      assert.equal(existsSync(join(root, "state")), false);
    });
  }

  test("of a task that nobody recorded is unknown, not stopped", async () => {
    const answer = await ask("stop t-nothing");
    assert.deepEqual([answer["ok"], answer["reason"]], [false, "unknown-identity"]);
  });
});

describe("estop resume", () => {
  test("elsewhere than in the TUI shows the terminal's command and lifts nothing", async () => {
    await ask("stop");
    for (const mode of ["rpc", "json", "print"] as const) {
      const answer = await ask("resume", mode);
      assert.deepEqual([answer["ok"], answer["reason"], answer["epoch"]], [false, "terminal-only", 1]);
      assert.match(String(answer["terminalCommand"]), /--all resume --epoch 1/);
    }
    assert.equal((await ask("resume", "tui"))["reason"], "terminal-only", "a program may read the TUI's JSON too");
    assert.equal(latch().state, "stopped");
  });

  test("in the TUI wants epoch and name typed by hand, and starts nothing", async () => {
    await ask("stop");
    for (const typed of ["1", "all", "2 all", "1 everything", "1 all please", undefined]) {
      const { session, done } = begin("resume", "tui");
      await type(session, typed);
      assert.match((await done).join("\n"), /Nothing changed/, String(typed));
      assert.equal(latch().state, "stopped");
    }
    const { session, done } = begin("resume", "tui");
    await type(session, " 1  all ", "it is mended");
    assert.match((await done).join("\n"), /lifted \(epoch 1\)\. Nothing starts by itself/);
    assert.equal(latch().state, "clear");
    const again = await begin("resume", "tui").done;
    assert.match(again.join("\n"), /No stop is in force/);
  });

  test("does not lift a stop that came while the person typed", async () => {
    await ask("stop");
    const { session, done } = begin("resume", "tui");
    await type(session, "1 all");
    const opened = openControlFolder();
    assert.ok(opened.ok);
    const actor = { uid: 0, kind: "person", tty: true, host: "x" } as const;
    const request = { verb: "stop", scope: ALL, how: "now", reason: "no!", cause: "operator", actor } as const;
    assert.ok((await requestStop(opened.folder, { ...request, requestId: "r" }, { redact: (text) => text })).ok);
    const second = await until(() => session.dialogs[1], 10_000, "the question why");
    second.choose("it is mended");
    assert.match((await done).join("\n"), /Something changed while you typed/);
    assert.deepEqual([latch().state, latch().epoch], ["stopped", 2]);
  });
});
