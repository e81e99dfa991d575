/** Milestones in Pi's transcript: short until they are expanded, on both lines, and never a word to Pi's own model. */
import assert from "node:assert/strict";
import { afterEach, describe, test } from "node:test";
import type { ExtensionAPI } from "@mariozechner/pi-coding-agent";
import { openPort } from "../../src/extension/pi-port.ts";
import { openTranscript, type Told } from "../../src/extension/transcript.ts";
import { moreOf } from "../../src/extension/ui/milestone-more.ts";
import { fakeSession } from "./support/fake-pi.ts";
import { fakeSupervisor, hubWith } from "./support/fake-supervisor.ts";

afterEach(() => void hubWith(undefined));

type Draw = (
  what: object,
  options: { expanded: boolean; keyText?: (id: string) => string },
  theme: object,
) => {
  render(columns: number): string[];
};
type Message = { role: string; customType?: string; content?: string; details?: unknown };

const theme = { fg: (_color: string, text: string) => text };
const told: Told = {
  text: "t-1 asks (bash.unknown): Bash: node gen.mjs\n/supervise approve r-1  or  /supervise deny r-1 [reason]",
  level: "warning",
  more: ["Bash:", "node gen.mjs --everything", "Record 7 of the log"],
};

/** A Pi of either line, as far as a transcript needs one. */
function line(name: "0.73.1" | "1.6.0") {
  const sent: Message[] = [];
  const entries: { type: string; data: unknown }[] = [];
  let draw: Draw | undefined;
  let filter: ((event: { messages: Message[] }) => { messages: Message[] } | undefined) | undefined;
  const old = {
    registerMessageRenderer: (_type: string, renderer: Draw) => {
      draw = renderer;
    },
    sendMessage: (message: Message) => void sent.push({ ...message, role: "custom" }),
    on: (_event: string, handler: typeof filter) => {
      filter = handler;
    },
  };
  const fresh = {
    registerEntryRenderer: (_type: string, renderer: Draw) => {
      draw = renderer;
    },
    appendEntry: (type: string, data: unknown) => void entries.push({ type, data }),
  };
  const transcript = openTranscript((name === "0.73.1" ? old : fresh) as unknown as ExtensionAPI);
  const shown = () => (name === "0.73.1" ? sent.at(-1) : { data: entries.at(-1)?.data });
  return {
    transcript,
    sent,
    entries,
    seenByModel: (messages: Message[]) => filter?.({ messages })?.messages ?? messages,
    drawn: (expanded: boolean, columns = 80) => draw?.(shown() ?? {}, { expanded }, theme).render(columns) ?? [],
  };
}

describe("a milestone in the transcript", () => {
  for (const name of ["0.73.1", "1.6.0"] as const) {
    test(`of Pi ${name} has its text and what to do, and the rest when it is expanded`, () => {
      const pi = line(name);
      assert.equal(pi.transcript(told, true), true);
      assert.deepEqual(pi.drawn(false), [
        " t-1 asks (bash.unknown): Bash: node gen.mjs (ctrl+o: more)",
        " /supervise approve r-1  or  /supervise deny r-1 [reason]",
      ]);
      assert.deepEqual(pi.drawn(true).slice(0, 3), [
        " t-1 asks (bash.unknown): Bash: node gen.mjs",
        " /supervise approve r-1  or  /supervise deny r-1 [reason]",
        "   Bash:",
      ]);
      assert.match(pi.drawn(true).join("\n"), /--everything\n {3}Record 7/);
    });

    test(`of Pi ${name} is never wider than the screen, and obeys nothing that stands in it`, () => {
      const pi = line(name);
      pi.transcript(
        { ...told, text: `${"漢字🎉e\u0301 ".repeat(40)}\u001b[2J\u0007`, more: ["\u001b]0;x\u0007".repeat(50)] },
        true,
      );
      for (const columns of [10, 33, 80])
        for (const one of [...pi.drawn(false, columns), ...pi.drawn(true, columns)]) {
          assert.doesNotMatch(one, /[\u0000-\u001f\u007f-\u009f]/);
          const width = [...one].reduce((sum, char) => sum + (char > "~" ? 2 : 1), 0);
          assert.ok(width <= columns, `${width} > ${columns}`);
        }
    });
  }

  test("of a session that somebody else wrote is drawn all the same", () => {
    const pi = line("1.6.0");
    for (const odd of [undefined, null, 7, { text: 7, more: [null], level: "odd" }]) {
      pi.transcript(odd as unknown as Told, true);
      assert.ok(pi.drawn(true).length > 0);
    }
  });

  test("reaches no model: 1.6.0 keeps it as an entry, 0.73.1 takes it out of each request and its content says nothing", () => {
    const old = line("0.73.1");
    old.transcript(told, true);
    assert.doesNotMatch(String(old.sent[0]?.content), /t-1|gen\.mjs|approve/);
    const others: Message[] = [
      { role: "user", content: "hello" },
      { role: "custom", customType: "other", content: "x" },
    ];
    assert.deepEqual(old.seenByModel([...others, ...old.sent]), others);
    assert.equal(old.seenByModel(others), others);
    const fresh = line("1.6.0");
    fresh.transcript(told, true);
    assert.deepEqual([fresh.sent, fresh.entries.length], [[], 1]);
  });

  test("does not steer a model that works (0.73.1): then it is a notice", () => {
    const pi = line("0.73.1");
    assert.equal(pi.transcript(told, false), false);
    assert.deepEqual(pi.sent, []);
  });

  for (const mode of ["tui", "rpc", "print"] as const)
    test(`in ${mode} mode ${mode === "tui" ? "is an entry, and no notice beside it" : "is told as ever"}`, () => {
      const session = fakeSession(mode);
      const errorOut: string[] = [];
      const entries: Told[] = [];
      const port = openPort(
        session.ctx,
        (one) => errorOut.push(one),
        () => undefined,
        (one) => entries.push(one) > 0,
      );
      assert.equal(port.tell(told), true);
      assert.equal(entries.length, mode === "tui" ? 1 : 0);
      assert.deepEqual(
        session.notices.map((notice) => notice.text),
        mode === "rpc" ? [told.text] : [],
      );
      assert.deepEqual(errorOut, mode === "print" ? [told.text] : []);
    });

  test("falls back to a notice where the transcript fails", () => {
    const session = fakeSession("tui");
    const port = openPort(session.ctx, undefined, undefined, () => false);
    assert.equal(port.tell(told), true);
    assert.equal(session.notices.length, 1);
  });
});

describe("what a milestone has more to say", () => {
  const command = {
    text: "npm test",
    outcome: "fail",
    exitCode: 1,
    signal: null,
    timedOut: false,
    durationMs: 61_000,
    outputTail: Array.from({ length: 100 }, (_, at) => `line ${at} \u001b[31m`).join("\n"),
    outputBytes: 9_000,
  };
  const table: [type: string, data: object, more: RegExp][] = [
    [
      "gate.verdict",
      {
        toolName: "Bash",
        input: { command: "node x\u001b[2J" },
        rule: "r.x",
        reason: "Who knows.",
        cwd: "/w",
        verdict: "review",
        requestId: "r-1",
      },
      /^Bash:\nnode x<U\+001B>\[2J\nRule r\.x: Who knows\.\nIn \/w\nRecord 1 of the log, 2026-01-01 00:00:01 UTC$/,
    ],
    [
      "verify.finished",
      { outcome: "fail", message: "m", round: 1, treeId: "a", commands: [command], findings: [] },
      /^\$ npm test\nexit code 1 after 1 min 1 s\nline 88 <U\+001B>\[31m\n[\s\S]*line 99/,
    ],
    ["task.completed", { treeId: "abc", round: 2, by: "auto" }, /^Round 2, tree abc\n/],
    [
      "stop.failed",
      { remaining: [{ kind: "process", id: "42", detail: "sleep" }], durationMs: 5 },
      /^process 42 sleep\n/,
    ],
    ["notice", { level: "info", text: "hello" }, /^Record 1 of the log/],
    ["something.new", {}, /^$/],
  ];
  for (const [type, data, more] of table)
    test(`of ${type}`, () => assert.match(moreOf(fakeSupervisor().happen("t-1", type, data)).join("\n"), more));

  test("is bounded, and says how much is left out", () => {
    const input = { command: "x\n".repeat(5_000) };
    const lines = moreOf(
      fakeSupervisor().happen("t-1", "gate.verdict", {
        toolName: "Bash",
        input,
        rule: "r",
        reason: "",
        cwd: "/",
        verdict: "review",
        requestId: "r-1",
      }),
    );
    assert.equal(lines.length, 42);
    assert.match(lines.at(-2) ?? "", /^\d+ more lines: \/supervise report t-1$/);
  });
});
