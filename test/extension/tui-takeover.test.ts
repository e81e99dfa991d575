/** In a real terminal: the wheel is taken and given back, and a task survives what people do to Pi's sessions. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { answerFirstStart } from "../support/claude.ts";
import { goldenFile } from "../support/golden.ts";
import { bash, held, text } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { LINES_OF_RUN, type PiLine, preparePi, skipReason } from "../support/pi-setup.ts";
import { isAlive } from "../support/processes.ts";
import { readEvents } from "../support/task.ts";
import { startTmux, type Tmux, tmuxSkipReason } from "../support/tmux.ts";
import { gate, until } from "../support/until.ts";
import { createLab, type Lab } from "../support/workspace.ts";

const WAIT = 60_000;

const SIZES = [
  [80, 24],
  [200, 50],
] as const;

/** Compares the screen in both sizes with the committed one. */
async function screensOf(terminal: Tmux, lab: Lab, line: PiLine): Promise<(name: string) => Promise<void>> {
  const files = SIZES.map((size) =>
    goldenFile(join(import.meta.dirname, "golden", `pi-${line}-${size.join("x")}.txt`), (screen) => mask(screen, lab)),
  );
  /* Folders of another length break lines elsewhere. */
  if (lab.root.length !== USUAL_ROOT) return async () => undefined;
  return async (name) => {
    for (const [at, [columns, rows]] of SIZES.entries()) {
      await terminal.resize(columns, rows);
      await files[at]?.shows(name, () => terminal.screen());
    }
  };
}

const USUAL_ROOT = "/tmp/pcs-lab-XXXXXX".length;

/** What differs from run to run; and Pi's own head, which says what is installed on this machine. */
function mask(screen: string, lab: Lab): string {
  const masked = screen
    .replaceAll(lab.root, "<lab>")
    .replace(/\bt-[0-9a-hjkmnp-tv-z]{13}\b/g, "t-xxxxxxxxxxxxx")
    .replace(/\br-[0-9a-hjkmnp-tv-z]{8}\b/g, "r-xxxxxxxx")
    .replace(/\d+ h( \d+ min)? left/g, "<time> left")
    .replace(/\b\d+ (s|min)\b( \d+ s\b)?/g, "<age>")
    .replace(
      /^(Stop| Stop) everything, from any shell:[\s\S]*?\n\n/m,
      " Stop everything, from any shell: <command>\n\n",
    )
    .replace(/ Warning: tmux extended-keys[\s\S]*?\n\n/, "")
    .replace(/^.*\(lab\) scripted$/m, "<Pi's numbers>")
    .replace(/^\d+ \d\d:\d\d:\d\d \S.*\n/gm, "<event>\n")
    .replace(/(<event>\n)+/g, "<events>\n");
  const lines = masked.split("\n");
  const own = lines.findIndex((one) => /supervis|t-xxx|hello Pi/.test(one));
  return own > 0 && lines.slice(0, own).some((one) => /\bv\d+\.\d+\.\d+\s*$|\[Extensions\]/.test(one))
    ? lines.slice(own).join("\n")
    : masked;
}

for (const line of LINES_OF_RUN) {
  const skip = tmuxSkipReason() ?? (await skipReason(line)) ?? false;
  test(`takeover into the real Claude and back, over /reload, /fork and /resume (Pi ${line})`, { skip }, async (t) => {
    const lab = await createLab(t);
    const modelServer = await startModelServer();
    lab.defer(() => modelServer.close());
    /* So that what is shown comes in one order. */
    const answered = gate();
    modelServer.script("main", [
      bash("node -e 1"),
      text("First turn is over."),
      text("The person was answered."),
      held(answered.opened, text("Back at work.")),
    ]);
    modelServer.script("pi", [text("Hello from Pi."), text("And again.")]);
    const cwd = await lab.repo({ "a.txt": "hello\n" });
    await answerFirstStart(lab, cwd);
    const terminal = await startTmux({ lab, ...(await preparePi({ lab, modelServer, line, cwd })), cwd });
    const enter = async (typed: string) => {
      await terminal.type(typed);
      await terminal.waitFor(new RegExp(`^${typed.replace(/[/[\]"]/g, "\\$&")}\\s*$`, "m"), WAIT);
      await terminal.key("Enter");
    };
    const golden = await screensOf(terminal, lab, line);
    const chip = /supervise: waits for your verify/;
    await terminal.waitFor(/scripted/, WAIT);

    await enter("hello Pi");
    await terminal.waitFor(/Hello from Pi\./, WAIT);
    await enter('/supervise start Fix the parser --verify "true"');
    const began = await terminal.waitFor(/Task (t-\w+) has begun in/, WAIT);
    const taskId = /Task (t-\w+) has begun in/.exec(began)?.[1] ?? "";
    await terminal.waitFor(/wants to use Bash[\s\S]*→ Later/, WAIT);
    await golden("a task has begun, and a call waits in its dialog");
    await terminal.key("Down");
    await terminal.waitFor(/→ Approve/, WAIT);
    await terminal.key("Enter");
    await terminal.waitFor(chip, WAIT);
    await golden("the turn is over");
    await terminal.key("C-o");
    await terminal.waitFor(/Rule interpreter\.code: It runs code[\s\S]*Record \d+ of the log/, WAIT);
    await terminal.key("C-o");

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

    await terminal.key("M-s");
    await terminal.waitFor(new RegExp(`supervise · open tasks[\\s\\S]*→ ${taskId} [\\s\\S]*enter open`), WAIT);
    await golden("the list of tasks");
    await terminal.key("Enter");
    const view = await terminal.waitFor(/supervise · task[\s\S]*timeline[\s\S]*turn\.result[\s\S]*esc back/, WAIT);
    assert.match(view, /failing rounds: 0 of 3/);
    assert.doesNotMatch(view, /supervise: waits|hello Pi/, "it covers the whole screen");
    await golden("one task");
    await terminal.key("Escape");
    await terminal.waitFor(/supervise · open tasks/, WAIT);
    await terminal.key("Escape");
    const left = await terminal.waitFor(/supervise: waits for your verify/, WAIT);
    assert.doesNotMatch(left, /supervise · |timeline|esc close/, "nothing of it stays on the screen");

    await enter(`/supervise takeover ${taskId}`);
    await terminal.waitFor(/Claude Code v2[\s\S]*First turn is over\.[\s\S]*❯/, WAIT);
    await golden("Claude has the terminal");
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
    await golden("back in Pi");

    await enter(`/supervise handback ${taskId} I only looked`);
    await terminal.waitFor(/session got 1\s+message of yours/, WAIT);
    answered.open();
    await terminal.waitFor(chip, WAIT);
    const said = modelServer.of("main").at(-1)?.userTexts().join("\n") ?? "";
    assert.match(said, /Look around[\s\S]*A person has worked in this session[\s\S]*I only looked/);
    await enter(`/supervise stop ${taskId} enough`);
    await terminal.waitFor(/is stopped: nothing of it runs any more/, WAIT);
    await golden("stopped");
    await enter("/quit");
    await until(() => !isAlive(terminal.pid), WAIT, "Pi's end");
    const types = (await readEvents(lab.stateDir, taskId)).map((event) => event.type);
    assert.deepEqual([types.includes("stop.proven"), types.at(-1)], [true, "owner.released"]);
  });
}
