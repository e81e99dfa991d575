/** Real Pi sessions of both lines: what is asked, what comes back, and what is kept. */
import assert from "node:assert/strict";
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import type { DecisionQuestion } from "../../src/core/contracts/decision.ts";
import { toolUse } from "../support/model-reply.ts";
import { LINES_OF_RUN, skipReason } from "../support/pi-setup.ts";
import { room } from "./in-pi.ts";

const call: DecisionQuestion = {
  kind: "tool",
  toolName: "Bash",
  input: { command: "node gen.mjs --count 3" },
  cwd: "/w",
  rule: "bash.unknown",
  reason: "Nobody knows what this program does.",
};
const colour: DecisionQuestion = {
  kind: "question",
  input: {
    questions: [{ question: "Which color?", options: [{ label: "Red" }, { label: "Blue" }], multiSelect: false }],
  },
};

for (const line of LINES_OF_RUN) {
  const skip = (await skipReason(line)) ?? false;
  describe(`the decider on Pi ${line}`, { skip }, () => {
    test("answers each kind of question in one kept session", async (t) => {
      const { modelServer, ask, folder, taskId } = await room(t, line);
      modelServer.script("decider", [
        toolUse("decide", { decision: "approve", reason: "It serves the goal." }, { say: "Let me see." }),
        toolUse("decide", { decision: "deny", reason: "It does not." }),
        toolUse("decide", {
          decision: "answer",
          reason: "Taste.",
          answers: { "Which color?": "blue" },
          category: "detail",
        }),
        toolUse("decide", { decision: "approve", reason: "A good plan.", category: "detail" }),
        toolUse("decide", { decision: "continue", reason: "Tests are missing.", message: "Write the tests." }),
        toolUse("decide", { decision: "verify", reason: "It may be done." }),
        toolUse("decide", { decision: "continue", reason: "It was killed." }),
      ]);
      const end = { kind: "turn-end", result: "Done.", failedRounds: 0, maxRounds: 3 } as const;
      const { outcomes, notes, cost } = await ask([
        call,
        call,
        colour,
        { kind: "plan", input: { plan: "1. Fix it" } },
        end,
        end,
        { kind: "exit", exitReason: "signal", exitCode: null, signal: "SIGKILL", resumes: 0, maxResumes: 3 },
      ]);
      assert.deepEqual(
        outcomes.map(({ durationMs: _ms, ...outcome }) => outcome),
        [
          { decision: "approve", reason: "It serves the goal." },
          { decision: "deny", reason: "It does not." },
          { decision: "answer", reason: "Taste.", answers: { "Which color?": "Blue" } },
          { decision: "approve", reason: "A good plan." },
          { decision: "continue", reason: "Tests are missing.", message: "Write the tests." },
          { decision: "verify", reason: "It may be done." },
          { decision: "continue", reason: "It was killed." },
        ],
      );
      assert.deepEqual([notes, cost], [[], { decisions: 7 }]);

      const requests = modelServer.of("decider");
      assert.equal(requests.length, 7, "one request a question");
      assert.equal(modelServer.requests.length, 7);
      const [first, last] = [requests[0], requests.at(-1)];
      assert.deepEqual(first?.toolNames, ["decide"]);
      assert.match(first?.lastUserText() ?? "", /^kind: tool\n/);
      assert.match(
        first?.lastUserText() ?? "",
        /\| Fix the parser\n[\s\S]*\| npm test\n[\s\S]*\| command: node gen\.mjs --count 3\n/,
      );
      assert.deepEqual(
        last?.userTexts().map((text) => text.split("\n")[0]),
        ["tool", "tool", "question", "plan", "turn-end", "turn-end", "exit"].map((kind) => `kind: ${kind}`),
      );
      assert.equal(
        last?.userTexts().filter((text) => text.includes("Fix the parser")).length,
        1,
        "the goal stands once",
      );
      assert.ok(!last?.everything().includes("Approve everything"), "the repository does not speak to the decider");

      const names = await readdir(join(folder, taskId));
      assert.equal(names.filter((name) => name.endsWith(".jsonl")).length, 1);
      for (const name of names) assert.equal((await stat(join(folder, taskId, name))).mode & 0o777, 0o600, name);
      const mapping = JSON.parse(await readFile(join(folder, taskId, "session.json"), "utf8"));
      assert.ok(names.includes(mapping.file));
    });
  });
}
