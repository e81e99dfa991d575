/** One verdict or none: whatever a reviewer's session does, only a clear pass is a pass. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import { setImmediate as tick } from "node:timers/promises";
import fc from "fast-check";
import type { DecisionCall, DecisionSessionOptions, DecisionTurn } from "../../src/core/contracts/decision.ts";
import type { ReviewInput, ReviewOutcome } from "../../src/core/contracts/review.ts";
import { failure } from "../../src/core/result.ts";
import { createReviewer, REVIEW_TIMEOUT_MS } from "../../src/decision/index.ts";
import { reviewPrompt } from "../../src/decision/review-prompt.ts";
import { judgeReview } from "../../src/decision/review-tool.ts";
import { matches, treeTools } from "../../src/decision/tree-tools.ts";
import { manualClock } from "../../src/platform/clock.ts";
import { createRedactor } from "../../src/redaction/index.ts";
import { HOSTILE } from "./hostile-texts.ts";

const input: ReviewInput = {
  goal: "Mend the sum",
  rules: ["Forbidden:\n- new dependencies"],
  verification: ["npm test"],
  evidence: "exit 0",
  changes: "modified sum.mjs",
  diff: "-  return a - b;\n+  return a + b;",
  root: "/nowhere",
};
const call = (args: unknown, name = "review"): DecisionCall => ({ name, arguments: args });
const secret = `ghp_${"A1b2C3d4E5f6".repeat(3)}`;

type Prompt = (text: string, signal: AbortSignal) => Promise<DecisionTurn>;

function scene(prompt: Prompt, refuse?: { ok: false; reason: string; message: string } | Error) {
  const clock = manualClock();
  const opened: DecisionSessionOptions[] = [];
  const texts: string[] = [];
  let disposed = 0;
  const reviewer = createReviewer({
    folder: "/private",
    redactor: createRedactor({ salt: "test" }),
    clock,
    factory: {
      async open(options) {
        opened.push(options);
        if (refuse instanceof Error) throw refuse;
        if (refuse) return refuse;
        const session = {
          file: undefined,
          resumed: false,
          model: "lab/scripted",
          prompt: (text: string, signal: AbortSignal) => {
            texts.push(text);
            return prompt(text, signal);
          },
          dispose: () => {
            disposed += 1;
          },
        };
        return { ok: true, session };
      },
      usable: () => ({ ok: true }),
    },
  });
  const stop = new AbortController();
  return {
    clock,
    opened,
    texts,
    stop,
    disposals: () => disposed,
    review: (more: Partial<ReviewInput> = {}) => reviewer.review({ ...input, ...more }, { signal: stop.signal }),
  };
}

const said =
  (...calls: DecisionCall[]): Prompt =>
  async () => ({ calls });
const never: Prompt = () => new Promise(() => undefined);

function verdictOf(outcome: ReviewOutcome): string {
  return outcome.verdict === "unavailable" ? `unavailable ${outcome.code}` : outcome.verdict;
}

describe("a review", () => {
  test("opens a session that keeps nothing, with one verdict tool and four tools to look", async () => {
    const { review, opened, texts } = scene(said(call({ verdict: "pass", summary: "Right." })));
    const outcome = await review();
    assert.deepEqual([outcome.verdict, outcome.model, outcome.looks], ["pass", "lab/scripted", 0]);
    const [options] = opened;
    assert.equal(options?.tool.name, "review");
    assert.equal(options?.isKept, false);
    assert.deepEqual(options?.helpers?.map((helper) => helper.name).sort(), ["find", "grep", "ls", "read"]);
    assert.match(texts[0] ?? "", /^kind: review\n/);
    for (const part of ["Mend the sum", "new dependencies", "npm test", "return a + b"])
      assert.ok(texts[0]?.includes(part), part);
  });

  const finding = { file: "a.ts", line: 3, problem: "The test was deleted." };
  const outcomes: [string, DecisionCall[], string][] = [
    ["pass", [call({ verdict: "pass", summary: "s" })], "pass"],
    ["pass without a word", [call({ verdict: "pass" })], "pass"],
    ["revise with findings", [call({ verdict: "revise", summary: "s", findings: [finding] })], "revise"],
    ["revise with findings in plain words", [call({ verdict: "revise", findings: ["Mend it."] })], "revise"],
    ["revise with a summary alone", [call({ verdict: "revise", summary: "Mend it." })], "revise"],
    ["person", [call({ verdict: "person", summary: "s" })], "person"],
    ["no call, or prose around a verdict", [], "unavailable no-call"],
    ["two calls", [call({ verdict: "pass" }), call({ verdict: "pass" })], "unavailable two-calls"],
    [
      "two calls that differ",
      [call({ verdict: "revise", summary: "s" }), call({ verdict: "pass" })],
      "unavailable two-calls",
    ],
    ["another tool", [call({ verdict: "pass" }, "approve")], "unavailable unclear"],
    ["no verdict", [call({ summary: "All good, I approve." })], "unavailable unclear"],
    ["a verdict of its own", [call({ verdict: "PASS" })], "unavailable unclear"],
    ["a verdict with more words", [call({ verdict: "pass, I think" })], "unavailable unclear"],
    ["a list of verdicts", [call({ verdict: ["pass"] })], "unavailable unclear"],
    ["a verdict in prose", [call("pass")], "unavailable unclear"],
    ["nothing", [call(undefined)], "unavailable unclear"],
    ["null", [call(null)], "unavailable unclear"],
    ["revise without a word", [call({ verdict: "revise", findings: [] })], "unavailable unclear"],
    ["findings that are none", [call({ verdict: "pass", findings: "none" })], "unavailable unclear"],
    ["an empty finding", [call({ verdict: "revise", findings: [{ file: "a.ts" }] })], "unavailable unclear"],
    ["a verdict inherited", [call(Object.create({ verdict: "pass" }) as object)], "unavailable unclear"],
  ];
  for (const [what, calls, expected] of outcomes) {
    test(`that answers with ${what} is ${expected}`, async () => {
      assert.equal(verdictOf(await scene(said(...calls)).review()), expected);
    });
  }

  test("never passes on arbitrary calls that hold no plain verdict of pass", () => {
    fc.assert(
      fc.property(fc.array(fc.record({ name: fc.constantFrom("review", "x"), arguments: fc.anything() })), (calls) => {
        const judged = judgeReview(calls);
        const [only] = calls;
        const args = only?.arguments as { verdict?: unknown } | null | undefined;
        if (judged.verdict === "pass") assert.ok(calls.length === 1 && args?.verdict === "pass");
      }),
    );
  });

  const faults: [string, Prompt, string][] = [
    ["the model's error", async () => ({ calls: [], error: "529 overloaded" }), "unavailable model-error"],
    [
      "an error beside a verdict",
      async () => ({ calls: [call({ verdict: "pass" })], error: "cut off at the output limit" }),
      "unavailable model-error",
    ],
    ["a throw", () => Promise.reject(new Error("boom")), "unavailable model-error"],
  ];
  for (const [what, prompt, expected] of faults) {
    test(`with ${what} is ${expected}`, async () => {
      assert.equal(verdictOf(await scene(prompt).review()), expected);
    });
  }

  test("without a model, or in a session that does not open, is unavailable", async () => {
    assert.equal(verdictOf(await scene(never, failure("no-model", "none")).review()), "unavailable no-model");
    assert.equal(verdictOf(await scene(never, failure("session", "refused")).review()), "unavailable model-error");
    assert.equal(verdictOf(await scene(never, new Error("no Pi")).review()), "unavailable model-error");
  });

  test("that hangs ends at its time limit, aborts the model and lets go of the session", async () => {
    let aborted = false;
    const hangs: Prompt = (_text, signal) => {
      signal.addEventListener("abort", () => {
        aborted = true;
      });
      return new Promise(() => undefined);
    };
    const { review, clock, disposals } = scene(hangs);
    const outcome = review();
    await tick();
    clock.advance(REVIEW_TIMEOUT_MS);
    assert.equal(verdictOf(await outcome), "unavailable timeout");
    assert.ok(aborted);
    clock.advance(2_000);
    await tick();
    assert.equal(disposals(), 1);
  });

  test("that is stopped is void at once, and a later pass is not heard", async () => {
    let answer: (turn: DecisionTurn) => void = () => undefined;
    const { review, stop, disposals } = scene(() => new Promise((resolve) => (answer = resolve)));
    const outcome = review();
    await tick();
    stop.abort();
    answer({ calls: [call({ verdict: "pass" })] });
    assert.equal(verdictOf(await outcome), "unavailable aborted");
    await tick();
    assert.equal(disposals(), 1);
    const early = scene(said(call({ verdict: "pass" })));
    early.stop.abort();
    assert.equal(verdictOf(await early.review()), "unavailable aborted");
    assert.equal(early.opened.length, 0);
  });

  test("shows no secret to the model and repeats none", async () => {
    const { review, texts } = scene(
      said(call({ verdict: "revise", summary: secret, findings: [{ problem: `drop ${secret}` }] })),
    );
    const outcome = await review({ diff: `+ token = ${secret}`, goal: `use ${secret}` });
    assert.ok(!JSON.stringify([texts, outcome]).includes(secret));
  });

  test("is not steered by what stands in the diff: every line of it is marked as data, and its tag can't be guessed", () => {
    for (const hostile of HOSTILE) {
      const text = reviewPrompt({ ...input, diff: hostile }, () => "f00dfeedf00dfeed");
      const own = text.split("\n").filter((line) => !line.startsWith("| "));
      assert.equal(own.filter((line) => /^kind: /.test(line)).length, 1);
      assert.equal(own.filter((line) => line === "</data-f00dfeedf00dfeed>").length, 6, "only ours close");
    }
  });
});

describe("the reviewer's tools", () => {
  function tree(t: { after(fn: () => void): void }) {
    const base = realpathSync(mkdtempSync(join(tmpdir(), "pcs-eyes-")));
    t.after(() => rmSync(base, { recursive: true, force: true }));
    const root = join(base, "tree");
    for (const folder of ["tree", "tree/src", "tree/.git", "tree-beside"]) mkdirSync(join(base, folder));
    writeFileSync(join(base, "outside.txt"), "OUTSIDE\n");
    writeFileSync(join(base, "tree-beside", "x.txt"), "OUTSIDE\n");
    writeFileSync(join(root, ".git", "config"), "OUTSIDE\n");
    writeFileSync(join(root, "src", "a.ts"), `one\ntwo ${secret}\nthree\u202e\n`);
    writeFileSync(join(root, "logo.png"), Buffer.from([137, 80, 0, 1]));
    symlinkSync("../outside.txt", join(root, "link.txt"));
    symlinkSync("..", join(root, "up"));
    const eyes = treeTools(root, createRedactor({ salt: "test" }));
    const run = (name: string, args: unknown): Promise<string> => {
      const tool = eyes.tools.find((one) => one.name === name);
      assert.ok(tool, name);
      return tool.run(args, new AbortController().signal);
    };
    return { base, root, eyes, run };
  }

  test("show files, folders and matches of the tree, redacted and with hidden characters visible", async (t) => {
    const { run } = tree(t);
    assert.match(await run("ls", {}), /^link\.txt@\nlogo\.png\nsrc\/\nup@$/);
    const shown = await run("read", { path: "src/a.ts" });
    assert.match(shown, /^1\tone\n2\ttwo .*\n3\tthree<U\+202E>/);
    assert.ok(!shown.includes(secret));
    assert.equal(await run("read", { path: "src/a.ts", offset: 1, limit: 1 }), "1\tone");
    assert.match(await run("read", { path: "logo.png" }), /binary, 4 bytes/);
    assert.equal(await run("find", { pattern: "*.ts" }), "src/a.ts");
    assert.match(await run("grep", { pattern: "^(one|three)" }), /src\/a\.ts:1:one\n.*src\/a\.ts:3:three/);
    assert.equal(await run("grep", { pattern: "nowhere" }), "(nothing)");
    assert.ok(!(await run("grep", { pattern: "two" })).includes(secret));
  });

  const beyond: [string, unknown][] = [
    ["read", { path: "../outside.txt" }],
    ["read", { path: "link.txt" }],
    ["read", { path: "up/outside.txt" }],
    ["read", { path: "/etc/passwd" }],
    ["read", { path: "../tree-beside/x.txt" }],
    ["read", { path: ".git/config" }],
    ["read", { path: "src/../.git/config" }],
    ["ls", { path: ".." }],
    ["ls", { path: "up" }],
    ["ls", { path: ".git" }],
    ["find", { pattern: "*", path: ".." }],
    ["find", { pattern: "*.txt", path: "up" }],
    ["grep", { pattern: "OUTSIDE" }],
    ["grep", { pattern: "OUTSIDE", path: ".." }],
    ["grep", { pattern: "OUTSIDE", path: "link.txt" }],
    ["grep", { pattern: "OUTSIDE", path: ".git" }],
    ["read", { path: "src/a.ts\0" }],
    ["read", {}],
    ["read", "src"],
    ["grep", { pattern: "" }],
    ["grep", { pattern: "(" }],
    ["grep", { pattern: "-f/etc/passwd" }],
    ["read", { path: "src" }],
  ];
  for (const [name, args] of beyond) {
    test(`show nothing of the outside: ${name} ${JSON.stringify(args)}`, async (t) => {
      const { run, base } = tree(t);
      const answer = await run(name, args);
      assert.ok(!/OUTSIDE|root:|outside\.txt/.test(answer), answer);
      assert.ok(!answer.includes(base), "nor where the tree lies");
    });
  }

  test("are bounded in an answer and altogether", async (t) => {
    const { run, root, eyes } = tree(t);
    writeFileSync(join(root, "large.txt"), "x".repeat(3_000_000));
    assert.ok((await run("read", { path: "large.txt" })).length < 20_000);
    for (let n = 0; n < 120; n += 1) await run("ls", {});
    assert.equal(await run("read", { path: "src/a.ts" }), "No more looking: give your verdict with review now.");
    assert.ok(eyes.looks > 100);
  });

  test("find by a pattern without ever backtracking into a tree of choices", () => {
    const table: [string, string, boolean][] = [
      ["*.ts", "src/a.ts", true],
      ["src/*", "src/a.ts", true],
      ["?.ts", "a.ts", true],
      ["?.ts", "ab.ts", false],
      ["*", "", true],
      ["a*b*c", "aXXbYYc", true],
      ["a*b*c", "aXXbYY", false],
    ];
    for (const [pattern, text, expected] of table) assert.equal(matches(pattern, text), expected, `${pattern} ${text}`);
    const begun = performance.now();
    assert.equal(matches(`${"*a".repeat(200)}b`, "a".repeat(4_000)), false);
    assert.ok(performance.now() - begun < 2_000);
  });
});
