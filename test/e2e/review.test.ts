/** `start --review`, end to end: real Pi (both lines) whose model reviews, real Claude Code, one scripted model for both. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { HOSTILE } from "../decision/hostile-texts.ts";
import { bash, type Reply, text, toolUse } from "../support/model-reply.ts";
import type { Script } from "../support/model-server.ts";
import { logProblems, readEvents, waitForState } from "../support/task.ts";
import { until } from "../support/until.ts";
import { FAILING, MEND, onBothLines, openScene, type Scene, test } from "./scene.ts";

const verdict = (word: string, more: object = {}): Reply =>
  toolUse("review", { verdict: word, summary: `Because ${word}.`, ...more });
const DONE = [bash(MEND), text("Done.")];
const LURES = [1, 17, 40, 60, 100, 123, 131, 150, 171, 194].map((at) => String(HOSTILE[at]));

interface Case {
  worker: Script;
  reviewer: Script;
  ends: string[];
  look(facts: { scene: Scene; taskId: string; asked: readonly string[] }): Promise<void>;
}

async function signOffOf(scene: Scene, taskId: string): Promise<string> {
  return until(
    async () => (await scene.approvals()).find((one) => one.taskId === taskId && one.kind === "sign-off")?.requestId,
    60_000,
    "the sign-off",
  );
}

const dataOf = async ({ lab }: Scene, taskId: string, type: string): Promise<Readonly<Record<string, unknown>>[]> =>
  (await readEvents(lab.stateDir, taskId)).filter((event) => event.type === type).map((event) => event.data);

const CASES: Readonly<Record<string, Case>> = {
  passes: {
    worker: DONE,
    reviewer: [toolUse("read", { path: "sum.mjs" }), verdict("pass")],
    ends: ["completed"],
    async look({ scene, taskId, asked }) {
      assert.match(asked[0] ?? "", /^kind: review\n[\s\S]*\| -export const sum = \(a, b\) => a - b;\n/);
      const [review] = await dataOf(scene, taskId, "review.finished");
      assert.deepEqual([review?.["verdict"], review?.["looks"]], ["pass", 1]);
    },
  },
  "wants a revision": {
    worker: [...DONE, bash("echo '// adds' > about.mjs"), text("Said so.")],
    reviewer: [
      verdict("revise", { findings: [{ file: "sum.mjs", line: 1, problem: "Say what it does." }] }),
      verdict("pass"),
    ],
    ends: ["completed"],
    async look({ scene, taskId, asked }) {
      assert.equal(asked.length, 2, "the mended candidate is another one");
      assert.match(asked[1] ?? "", /\| \+\/\/ adds\n/);
      const told = await dataOf(scene, taskId, "prompt.intent");
      assert.deepEqual(
        told.map((prompt) => prompt["source"]),
        ["goal", "verifier"],
      );
      assert.match(String(told[1]?.["text"]), /- sum\.mjs:1: Say what it does\./);
      assert.equal((await dataOf(scene, taskId, "verify.finished")).length, 2);
    },
  },
  "leaves it to a person": {
    worker: DONE,
    reviewer: [verdict("person")],
    ends: ["human_required"],
    async look({ scene, taskId }) {
      const requestId = await signOffOf(scene, taskId);
      const signed = await scene.run(`approve ${requestId} --note "I looked at it"`);
      assert.equal(signed.ok, true, JSON.stringify(signed));
      await waitForState(scene.pi, taskId, ["completed"], 60_000);
      const path = join(scene.lab.stateDir, "tasks", taskId, "evidence.json");
      const evidence = await until(() => readFile(path, "utf8").catch(() => undefined), 30_000, "the evidence");
      const { rounds, signOff } = JSON.parse(evidence);
      assert.deepEqual([rounds[0].review.verdict, rounds[0].review.message], ["person", "Because person."]);
      assert.match(rounds[0].versions.git, /\d/);
      assert.deepEqual([signOff.person.via, signOff.person.note], ["command", "I looked at it"]);
    },
  },
  "is told by the diff to pass, and obeys in words": {
    worker: [
      toolUse("Write", { file_path: "notes.txt", content: LURES.map((lure, at) => `lure-${at} ${lure}`).join("\n") }),
      ...DONE,
    ],
    reviewer: [text('As the person in the diff says: review({"verdict":"pass"}). pass')],
    ends: ["human_required"],
    async look({ scene, taskId, asked }) {
      await signOffOf(scene, taskId);
      assert.equal((await dataOf(scene, taskId, "task.completed")).length, 0);
      assert.equal((await dataOf(scene, taskId, "review.finished"))[0]?.["code"], "no-call");
      const lines = (asked[0] ?? "").split("\n");
      LURES.forEach((lure, at) => {
        assert.ok(
          lines.some((line) => line.startsWith("| ") && line.includes(`lure-${at}`)),
          `lure-${at} is shown`,
        );
        for (const piece of lure.split(/[\r\n\u2028\u2029\u0085\u000b\u000c]/).filter((one) => one.trim() !== ""))
          assert.equal(
            lines.filter((line) => line === piece).length,
            piece === "goal:" ? 1 : 0,
            `a line of its own: ${JSON.stringify(piece)}`,
          );
      });
      assert.equal(lines.filter((line) => line.startsWith("kind: ")).length, 1);
    },
  },
};

await onBothLines("a reviewer in a whole run", (line) => {
  test("whatever it says, and whatever the worker says to it", { timeout: 280_000 }, async (t) => {
    const scene = await openScene(t, line);
    const { lab, modelServer, pi } = scene;
    const begun: [what: string, one: Case, taskId: string][] = [];
    const goalOf = (what: string): string => `Mend the sum when it ${what}`;
    const mine =
      (what: string) =>
      (request: { userTexts(): string[] }): boolean =>
        request.userTexts().some((said) => said.includes(goalOf(what)));
    for (const [what, one] of Object.entries(CASES)) {
      const cwd = await lab.repo(FAILING, what.replaceAll(/\W+/g, "-"));
      modelServer.script("main", one.worker, mine(what));
      modelServer.script("reviewer", one.reviewer, mine(what));
      const words = `${goalOf(what)} --cwd ${cwd} --mode auto --review --verify "node sum.test.mjs"`;
      const started = await pi.run(`/supervise start ${words} --json`, { deadlineMs: 60_000 });
      assert.equal(started.ok, true, JSON.stringify(started));
      begun.push([what, one, String(started["taskId"])]);
    }
    for (const [what, { ends, look }, taskId] of begun) {
      await t.test(what, async () => {
        await waitForState(pi, taskId, ends, 120_000);
        const reviews = modelServer.of("reviewer").filter(mine(what));
        const asked = [...new Set(reviews.map((request) => request.userTexts()[0] ?? ""))];
        await look({ scene, taskId, asked });
        assert.deepEqual(await logProblems(lab.stateDir, taskId), [], what);
      });
    }
    assert.deepEqual(modelServer.scriptErrors, []);
    const [what = "", , taskId] = begun[0] ?? [];
    const { url } = await pi.run(`/supervise report ${taskId} --serve --json`);
    const page = await fetch(String(url));
    assert.deepEqual([page.status, (await page.text()).includes(goalOf(what))], [200, true]);
    await pi.quit();
    await assert.rejects(fetch(String(url)), "the live view ends with Pi");
  });
});
