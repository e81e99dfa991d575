/** How a terminal calls a person who looks elsewhere, and where nothing of it may appear. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { openPort } from "../../src/extension/pi-port.ts";
import { showTasks } from "../../src/extension/ui/task-ui.ts";
import { terminalBytes } from "../../src/extension/ui/terminal-notice.ts";
import { type FakeMode, fakeSession } from "./support/fake-pi.ts";
import { fakeSupervisor, hubWith } from "./support/fake-supervisor.ts";

const ESC = "\u001b";
const BELL = "\u0007";
const notice = { how: "auto", title: "Pi: Mend it", body: "t-1 asks for Bash" } as const;

describe("the terminal's bytes", () => {
  const osc777 = `${ESC}]777;notify;Pi: Mend it;t-1 asks for Bash${BELL}`;
  const table: [what: string, env: Record<string, string>, bytes: string][] = [
    ["an unknown terminal only rings", { TERM: "xterm-256color" }, BELL],
    ["the Linux console only rings", { TERM: "linux" }, BELL],
    ["VS Code's terminal only rings", { TERM_PROGRAM: "vscode" }, BELL],
    ["Windows Terminal only rings", { WT_SESSION: "1" }, BELL],
    [
      "kitty shows title and body",
      { KITTY_WINDOW_ID: "1" },
      `${ESC}]99;i=pi-supervise:d=0;Pi: Mend it${ESC}\\${ESC}]99;i=pi-supervise:p=body;t-1 asks for Bash${ESC}\\`,
    ],
    ["iTerm2 shows one text", { TERM_PROGRAM: "iTerm.app" }, `${ESC}]9;Pi: Mend it: t-1 asks for Bash${BELL}`],
    ["WezTerm", { TERM_PROGRAM: "WezTerm" }, osc777],
    ["Ghostty", { TERM_PROGRAM: "ghostty" }, osc777],
    ["foot", { TERM: "foot-extra" }, osc777],
    ["rxvt-unicode", { TERM: "rxvt-unicode-256color" }, osc777],
    ["GNU screen passes nothing on: it rings", { STY: "1.pts", TERM_PROGRAM: "WezTerm" }, BELL],
    [
      "tmux gets its envelope, and the bell where it does not pass it on",
      { TMUX: "/tmp/t,1,0", TERM: "tmux-256color", GHOSTTY_RESOURCES_DIR: "/g" },
      `${ESC}Ptmux;${ESC}${osc777}${ESC}\\${BELL}`,
    ],
    ["tmux around an unknown terminal rings", { TMUX: "/tmp/t,1,0", TERM: "tmux-256color" }, BELL],
  ];
  for (const [what, env, bytes] of table) test(what, () => assert.equal(terminalBytes(notice, env), bytes));

  test("are the bell alone where the person wants no more", () => {
    for (const [, env] of table) assert.equal(terminalBytes({ ...notice, how: "bell" }, env), BELL);
  });

  test("hold nothing of a text that could end the sequence, split its fields or paint", () => {
    const evil = `x${ESC}]0;owned${BELL};y\u009c\r\n${ESC}[2J\u202e;`;
    for (const [what, env] of table) {
      const bytes = terminalBytes({ how: "auto", title: evil, body: evil.repeat(100) }, env);
      const frame = terminalBytes({ how: "auto", title: "", body: "" }, env);
      const controls = (text: string): string[] => [...text].filter((char) => char < " " || char === "\u009c");
      assert.deepEqual(controls(bytes), controls(frame), what);
      assert.equal(bytes.split(";").length, frame.split(";").length, what);
      assert.ok(bytes.length < 500, what);
    }
  });
});

describe("a call of a person", () => {
  const shown = (mode: FakeMode, withMode = true) => {
    const session = fakeSession(mode, { withMode });
    const supervisor = fakeSupervisor();
    const errors: string[] = [];
    const bytes: string[] = [];
    const port = openPort(
      session.ctx,
      (line) => errors.push(line),
      (piece) => bytes.push(piece),
    );
    return { session, supervisor, port, errors, bytes, view: showTasks(hubWith(supervisor), supervisor, port) };
  };

  for (const withMode of [true, false])
    test(`rings in the text interface ${withMode ? "" : "of Pi 0.73.1 "}and says nothing else`, () => {
      const { session, supervisor, bytes, view } = shown("tui", withMode);
      supervisor.call({ terminal: "bell" });
      assert.deepEqual(bytes, [BELL]);
      assert.deepEqual(session.notices, [], "the notice in the transcript is another one");
      view.dispose();
      supervisor.call({ terminal: "bell" });
      assert.equal(bytes.length, 1, "a session that is gone rings no more");
    });

  for (const mode of ["rpc", "json", "print"] as const)
    test(`puts nothing on any output in ${mode} mode`, () => {
      const { supervisor, bytes, errors, view } = shown(mode);
      supervisor.call({});
      assert.deepEqual([bytes, errors], [[], []]);
      view.dispose();
    });

  test("does not write into another program that has the terminal", async () => {
    const { supervisor, bytes, port, view } = shown("tui");
    await port.suspend(async () => supervisor.call({}));
    assert.deepEqual(bytes, []);
    supervisor.call({ terminal: "bell" });
    assert.deepEqual(bytes, [BELL]);
    view.dispose();
  });
});
