/**
 * Every command in a real Pi of both lines, over RPC, in print mode and in JSON mode: written rightly, written wrongly, for
 * an id that nobody knows, and while an emergency stop is in force. One Pi a mode and line. The TUI's channel is in
 * tui.test.ts, and all of it with a Pi of our own in commands.test.ts.
 */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { commandNames } from "../../src/extension/parse/spec.ts";
import { token } from "../e2e/secret-values.ts";
import { FAKE_CLAUDE, FAKE_CLAUDE_VARIABLES, fakeClaude } from "../support/fake-claude/index.ts";
import { parseObject } from "../support/json-lines.ts";
import { text, toolUse } from "../support/model-reply.ts";
import { type ModelServer, startModelServer } from "../support/model-server.ts";
import { type Json, type Pi, startPi } from "../support/pi.ts";
import { runPrint } from "../support/pi-print.ts";
import { PI_LINES, type PiLine, skipReason } from "../support/pi-setup.ts";
import { MARK_NAME } from "../support/processes.ts";
import { until } from "../support/until.ts";
import { createLab } from "../support/workspace.ts";
import { IN_FORCE, UNKNOWN } from "./command-table.ts";

const WAIT = 60_000;
const QUESTION = {
  questions: [
    {
      question: "Which?",
      header: "Which",
      multiSelect: false,
      options: [
        { label: "Blue", description: "" },
        { label: "Red", description: "" },
      ],
    },
  ],
};
/** The worker of the tour: two calls and a question, then a turn a message. */
const STEPS = [
  { handshake: {} },
  { prompt: true },
  { init: {} },
  { hook: { tool: "Bash", input: { command: "node one.mjs" } } },
  { hook: { tool: "Bash", input: { command: "node two.mjs" } } },
  { hook: { tool: "AskUserQuestion", input: QUESTION } },
  { result: {} },
];

async function scene(t: Parameters<typeof createLab>[0], line: PiLine) {
  const lab = await createLab(t);
  const modelServer = await startModelServer();
  lab.defer(() => modelServer.close());
  const steps = join(lab.tmp, `steps-${randomUUID()}.json`);
  await writeFile(steps, JSON.stringify(STEPS));
  const env = {
    ...fakeClaude(lab.tmp).env,
    FAKE_CLAUDE_STEPS: steps,
    PI_CLAUDE_SUPERVISOR_CLAUDE: FAKE_CLAUDE,
    PI_CLAUDE_SUPERVISOR_WORKER_ENV: [...FAKE_CLAUDE_VARIABLES, MARK_NAME].join(","),
  };
  return { lab, modelServer, line, cwd: await lab.repo({ "a.txt": "hello\n" }), env };
}

/** One command of every kind that succeeds, in an order in which each can. `$T` and `$R` are the task and its request. */
const TOUR: readonly string[] = [
  "help",
  "help start",
  "doctor",
  'policy check "git push"',
  "policy show",
  "estop status",
  "sessions",
  "approvals",
  'start Fix it with $S --verify "false"',
  "status",
  "status $T",
  "approve $R --note fine",
  "deny $R no",
  "answer $R Blue",
  "send $T hello",
  "log $T",
  "log $T --verify",
  "report $T",
  "report --all",
  "sessions --all",
  "verify $T",
  "pause $T lunch",
  "resume $T",
  "takeover $T",
  "handback $T I was here",
  "stop $T enough",
  "replay $T",
  "recover $T",
  "kill $T",
  "discard $T",
  "discard $T --yes",
];

/** What has to be so before the tour goes on. */
const READY: Readonly<Record<string, (pi: Pi, taskId: string) => Promise<boolean>>> = {
  "send $T hello": async (pi, taskId) => (await pi.run(`/supervise status ${taskId} --json`)).waitsFor === "result",
  "verify $T": async (pi, taskId) => {
    const now = await pi.run(`/supervise status ${taskId} --json`);
    return now.waitsFor === "result" && now.turns === 2;
  },
  "takeover $T": async (pi, taskId) =>
    ((await pi.run(`/supervise status ${taskId} --json`)).state as string) !== "starting",
};

/** Pi's own model looks at the task by both tools: facts, marked as data, bounded, without a secret. */
async function modelLooks(pi: Pi, modelServer: ModelServer, taskId: string, secret: string): Promise<void> {
  modelServer.script("pi", [
    toolUse("supervise_status", {}),
    toolUse("supervise_report", { taskId }),
    toolUse("supervise_status", { taskId: "t-9" }),
    text("I have looked."),
  ]);
  await pi.request({ type: "prompt", message: "What does the worker do?" });
  const last = await modelServer.waitForRequest((one) => one.kind === "pi" && one.toolResults().length === 3, WAIT);
  assert.deepEqual(
    last.toolNames.filter((name) => name.startsWith("supervise")),
    ["supervise_status", "supervise_report"],
  );
  const [status, report, unknown] = last.toolResults().map((one) => one.text);
  for (const said of [status ?? "", report ?? ""]) {
    assert.match(
      said,
      /^Facts about a supervised worker[\s\S]*They are data[\s\S]*<(data-[0-9a-f]{12})>[\s\S]*<\/\1>$/,
    );
    assert.ok(said.includes(taskId) && said.includes("node one.mjs") && said.length < 25_000, said);
  }
  assert.match(status ?? "", /It waits for the user: approval/);
  assert.match(unknown ?? "", /no task id|no task/);
  assert.ok(!last.everything().includes(secret), "the secret of the goal");
}

async function requestOf(pi: Pi): Promise<string> {
  return until(
    async () => ((await pi.run("/supervise approvals --json")).requests as { requestId: string }[])[0]?.requestId,
    WAIT,
    "a request",
  );
}

for (const line of PI_LINES) {
  const skip = (await skipReason(line)) ?? false;

  test(`over RPC each command answers with one notify: one object, or one text (Pi ${line})`, { skip }, async (t) => {
    const set = await scene(t, line);
    const pi = await startPi(set);
    const secret = token("github");
    let taskId = "";
    const seen = new Set<string>();
    for (const words of TOUR) {
      if (READY[words] !== undefined) await until(() => READY[words]?.(pi, taskId), WAIT, words);
      const requestId = words.includes("$R") ? await requestOf(pi) : "";
      if (words.startsWith("approve ")) await modelLooks(pi, set.modelServer, taskId, secret);
      const typed = words.replace("$T", taskId).replace("$R", requestId).replace("$S", secret);
      const from = pi.ui.length;
      const answer = await pi.run(`/supervise ${typed} --json`, { deadlineMs: WAIT });
      assert.equal(answer.ok, true, `${typed}: ${JSON.stringify(answer)}`);
      assert.equal(jsonOf(pi, from).length, 1, typed);
      if (answer.command === "start") taskId = String(answer.taskId);
      seen.add(String(answer.command));
    }
    assert.deepEqual([...seen].sort(), [...commandNames].sort());

    const wrong = commandNames.map((name) => [`${name} --nonsense`, "unknown-flag"] as const);
    const unknown = UNKNOWN.map(
      (words) => [words, /^(approve|deny|answer)/.test(words) ? "no-request" : "no-task"] as const,
    );
    await refusedTwice(pi, [...wrong, ...unknown]);

    assert.equal((await pi.run("/supervise estop stop --json", { deadlineMs: WAIT })).ok, true);
    const held = Object.values(IN_FORCE).flat();
    await refusedTwice(
      pi,
      held.flatMap(([words, reason]) => (reason === null ? [] : [[words, reason] as const])),
    );
    for (const [words] of held.filter(([, reason]) => reason === null)) {
      assert.equal((await pi.run(`/supervise ${words} --json`)).ok, true, words);
      const texts = await pi.runForPeople(`/supervise ${words}`);
      assert.equal(texts.length, 1, `${words}: ${JSON.stringify(texts)}`);
    }
  });

  for (const mode of ["text", "json"] as const) {
    test(`in ${mode === "text" ? "print" : "JSON"} mode each command answers on standard error alone (Pi ${line})`, {
      skip,
    }, async (t) => {
      const set = await scene(t, line);
      const expected: [words: string, reason: string | null][] = [
        ...["help", "doctor", "policy show", "sessions", "approvals", "estop status"].map((words): [string, null] => [
          words,
          null,
        ]),
        ...commandNames.map((name): [string, string] => [`${name} --nonsense`, "unknown-flag"]),
        ...UNKNOWN.map((words): [string, string] => [
          words,
          /^(approve|deny|answer)/.test(words) ? "no-request" : "no-task",
        ]),
        ["estop stop", null],
        ...Object.values(IN_FORCE).flat(),
      ];
      const prompts = expected.flatMap(([words]) => [`/supervise ${words}`, `/supervise ${words} --json`]);
      const ran = await runPrint({
        ...set,
        mode,
        args: prompts.slice(0, -1),
        prompt: prompts.at(-1) ?? "",
        deadlineMs: 120_000,
      });
      /* Standard error: for each command a text of some lines, then one object. */
      let text: string[] = [];
      const told: { text: string; answer: Json }[] = [];
      for (const one of ran.stderr.split("\n")) {
        const answer = parseObject(one);
        if (answer === undefined) text.push(one);
        else {
          told.push({ text: text.join("\n").trim(), answer });
          text = [];
        }
      }
      assert.deepEqual(
        told.map(({ answer }) => [answer.ok, answer.ok === true ? null : answer.reason]),
        expected.map(([, reason]) => [reason === null, reason]),
        ran.stderr.slice(0, 4_000),
      );
      for (const [at, { text: said, answer }] of told.entries())
        assert.ok(
          said.length > 10 && (answer.ok === true || said.includes(String(answer.message).split("\n")[0] ?? "")),
          `${expected[at]?.[0]}: ${said}`,
        );
      assert.equal(mode === "text" ? ran.stdout : notOfPi(ran.stdout), "");
      assert.notEqual(ran.code, 0, "a failure is not hidden by what comes after it");
    });
  }
}

/** Notifies since `from` that are JSON answers. */
function jsonOf(pi: Pi, from: number): Json[] {
  const texts = pi.ui.slice(from).filter((shown) => shown.method === "notify");
  return texts.map((shown) => parseObject(shown.message ?? "")).filter((answer) => answer !== undefined);
}

/** Refused with the code in one object, and in one text shown as an error. */
async function refusedTwice(pi: Pi, table: readonly (readonly [words: string, reason: string])[]): Promise<void> {
  for (const [words, reason] of table) {
    const answer = await pi.run(`/supervise ${words} --json`);
    assert.deepEqual([answer.ok, answer.reason], [false, reason], words);
    const from = pi.ui.length;
    const texts = await pi.runForPeople(`/supervise ${words}`);
    assert.equal(texts.length, 1, `${words}: ${JSON.stringify(texts)}`);
    assert.equal(pi.ui.slice(from).find((shown) => shown.method === "notify")?.notifyType, "error", words);
    assert.equal(texts[0], answer.message, words);
  }
}

/** Lines of standard output that are not events of Pi's own (JSON mode prints those). */
function notOfPi(stdout: string): string {
  return stdout
    .split("\n")
    .filter((one) => one !== "" && typeof parseObject(one)?.type !== "string")
    .join("\n");
}
