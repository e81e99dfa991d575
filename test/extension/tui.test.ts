/** The text interface of both Pi lines, in a terminal: what a person sees and does, and that Pi survives it. */
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { bash, text } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { PI_LINES, preparePi, skipReason } from "../support/pi-setup.ts";
import { isAlive } from "../support/processes.ts";
import { readEvents } from "../support/task.ts";
import { startTmux, tmuxSkipReason } from "../support/tmux.ts";
import { until } from "../support/until.ts";
import { createLab } from "../support/workspace.ts";

const WAIT = 60_000;
/** A WezTerm inside tmux: its escapes doubled in tmux's envelope, then the bell. */
const NOTICE = /\x1bPtmux;\x1b\x1b\]777;notify;Pi: Fix the parser;t-\w+ asks for Bash\x07\x1b\\\x07/;

for (const line of PI_LINES) {
  const skip = tmuxSkipReason() ?? (await skipReason(line)) ?? false;
  test(`a person starts, answers, goes on in a new session, verifies and quits (Pi ${line})`, { skip }, async (t) => {
    const lab = await createLab(t);
    const modelServer = await startModelServer();
    lab.defer(() => modelServer.close());
    modelServer.script("main", [bash("node -e 1"), bash("node -e 2"), text("Done.")]);
    const cwd = await lab.repo({ "a.txt": "hello\n", "package.json": '{"scripts":{"test":"node -e 0"}}' });
    const prepared = await preparePi({ lab, modelServer, line, cwd });
    const transcript = join(lab.tmp, "terminal.bytes");
    const env = { ...prepared.env, TERM_PROGRAM: "WezTerm", WEZTERM_PANE: "0" };
    const terminal = await startTmux({ lab, ...prepared, env, cwd, transcript });
    const enter = async (typed: string) => {
      await terminal.type(typed);
      await terminal.waitFor(new RegExp(`^${typed}\\s*$`, "m"), WAIT);
      await terminal.key("Enter");
    };
    await terminal.waitFor(/scripted/, 60_000);

    await enter("/supervise start Fix the parser");
    await terminal.waitFor(/Which command proves[\s\S]*npm test/, WAIT);
    await terminal.key("Enter");
    await terminal.waitFor(/has begun in [\s\S]*Stop: \/supervise stop/, WAIT);

    const asked = await terminal.waitFor(/wants to use Bash[\s\S]*node -e 1[\s\S]*→ Later/, WAIT);
    assert.match(asked, /Rule interpreter\.code[\s\S]*SHA-256/);
    assert.match(asked, /Stop: \/supervise stop/, "the answer of start still stands");
    await terminal.waitFor(/supervise: waits for your approval/, WAIT);
    await until(
      async () => NOTICE.test(await readFile(transcript, "latin1")),
      WAIT,
      "the terminal to be asked for a desktop notice, in tmux's envelope and with a bell",
    );
    await terminal.key("Down");
    await terminal.waitFor(/→ Approve/, WAIT);
    await terminal.key("Enter");

    await terminal.waitFor(/wants to use Bash[\s\S]*node -e 2[\s\S]*→ Later/, WAIT);
    await terminal.key("Escape");
    const id = /\/supervise approve (r-\w+)/.exec(
      await terminal.waitFor(/stays pending: \/supervise approve r-\w+/, WAIT),
    );
    await enter("/new");
    await terminal.waitFor(/New session started/i, WAIT);
    await terminal.waitFor(/supervise: waits for your approval/, WAIT);
    const request = /\? (r-\w+) Bash: node -e 2/.exec(await terminal.screen())?.[1];
    assert.ok(id && request);
    await enter(`/supervise approve ${request}`);
    await terminal.waitFor(/supervise: waits for your verify/, WAIT);

    // The list of tasks: Enter takes the one there is, and then sends the whole.
    await terminal.type("/supervise verify ");
    await terminal.waitFor(/→ t-\w+ +waits for a person: Fix the parser/, WAIT);
    await terminal.key("Enter");
    await terminal.waitFor(/^\/supervise verify t-\w+\s*$/m, WAIT);
    await terminal.key("Enter");
    await terminal.waitFor(/The verification passed\.[\s\S]*: completed\./, WAIT);
    await enter("/quit");
    await until(() => !isAlive(terminal.pid), WAIT, "Pi's end");
  });

  test(`SIGTERM to the text interface ends the worker, and then Pi (Pi ${line})`, { skip }, async (t) => {
    const lab = await createLab(t);
    const modelServer = await startModelServer();
    lab.defer(() => modelServer.close());
    modelServer.script("main", [bash("node -e 1")]);
    const cwd = await lab.repo({ "a.txt": "hello\n" });
    const terminal = await startTmux({ lab, ...(await preparePi({ lab, modelServer, line, cwd })), cwd });
    await terminal.waitFor(/scripted/, 60_000);
    await terminal.type('/supervise start Fix it --verify "true"');
    await terminal.key("Enter");
    await terminal.waitFor(/wants to use Bash/, WAIT);
    process.kill(terminal.pid, "SIGTERM");
    await until(() => !isAlive(terminal.pid), WAIT, "Pi's end");
    // Without a listener of ours the text interface of Pi 0.73.1 would have died of the signal, its tasks unreleased.
    const [taskId = ""] = await readdir(join(lab.stateDir, "tasks"));
    const released = (await readEvents(lab.stateDir, taskId)).filter((event) => event.type === "owner.released");
    assert.deepEqual(
      released.map((event) => event.data.why),
      ["quit"],
    );
  });
}
