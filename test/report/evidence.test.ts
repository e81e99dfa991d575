/** The evidence as data: it is what its schema says, whatever the log, and holds what somebody needs to check the work. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { describe, test } from "node:test";
import * as Schema from "typebox/schema";
import { evidenceOf, type Report } from "../../src/report/index.ts";
import { hostileReport } from "./hostile.ts";
import { LogBuilder, longTask } from "./long-task.ts";

const schema = JSON.parse(
  readFileSync(resolve(import.meta.dirname, "../../docs/evidence.schema.json"), "utf8"),
) as Parameters<typeof Schema.Check>[0];
const NOW = "2026-11-30T06:00:00.000Z";

/** Sent back by the reviewer, then left to a person, who signs. */
const reviewed = (): Report => {
  const log = new LogBuilder().created().claimed("start").worker(false).prompt("goal", "x");
  const said = { message: "Not yet.", model: "lab/reviewer", looks: 3, durationMs: 900 };
  const findings = [{ file: "a.ts", line: 3, problem: "Special-cased." }, { problem: "In general." }];
  const treeOf = (): string => ((log.events.at(-1)?.data ?? {}) as { treeId: string }).treeId;
  log.turnOver("done", 0.1, undefined).verified("pass", "Passed.", "ok", []);
  log.add("review.finished", { ...said, verdict: "revise", treeId: treeOf(), round: 1, findings });
  log.prompt("verifier", "again").turnOver("done", 0.2, undefined).verified("pass", "Passed.", "ok", []);
  log.add("review.finished", {
    ...said,
    verdict: "unavailable",
    code: "timeout",
    treeId: treeOf(),
    round: 2,
    findings: [],
  });
  return log.completed().report();
};

const signed = (): Report => {
  const log = new LogBuilder().created().claimed("start").worker(false).prompt("goal", "x");
  log
    .turnOver("done", 0.1, undefined)
    .verified("pass", "Passed.", "ok", [
      { kind: "changed-script", path: "package.json#scripts.test", detail: "It was changed." },
    ]);
  const { treeId } = (log.events.at(-1)?.data ?? {}) as { treeId: string };
  log.add("signoff.requested", {
    requestId: "r-9",
    why: "changed-script",
    treeId,
    round: 1,
    message: "The worker changed what is run.",
    paths: ["package.json"],
  });
  log.answered("r-9", "approve", "person", "I looked at it.");
  return log.completed().report();
};

describe("the evidence", () => {
  const reports: [string, () => Report][] = [
    ["a night", () => longTask(450).report()],
    ["a task that was only created", () => new LogBuilder().created().report()],
    ["a signed task", signed],
    ["a reviewed task", reviewed],
  ];
  for (const [name, make] of reports)
    test(`of ${name} is what its schema says`, () => {
      const evidence = JSON.parse(JSON.stringify(evidenceOf(make(), NOW)));
      const [ok, errors] = Schema.Errors(schema, evidence);
      assert.ok(ok, JSON.stringify(errors));
      const [bad] = Schema.Errors(schema, { ...evidence, rounds: [{ outcome: "pass" }] });
      assert.equal(bad, false, "the schema refuses what is no evidence");
    });

  test("names commands, trees, hashes, changes and the signature", () => {
    const evidence = evidenceOf(longTask(450).report(), NOW);
    assert.deepEqual(evidence.criteria?.commands, ["npm test", "npm run lint"]);
    assert.deepEqual(
      evidence.rounds.map((round) => [round.outcome, round.commands[0]?.exitCode]),
      [
        ["fail", 1],
        ["fail", 1],
        ["pass", 0],
      ],
    );
    assert.match(evidence.rounds[0]?.commands[0]?.outputSha256 ?? "", /^[0-9a-f]{64}$/);
    assert.equal(evidence.signOff?.treeId, evidence.rounds.at(-1)?.treeId);
    assert.equal(evidence.signOff?.person, null);
    assert.equal(evidence.changes?.added, 72);
    const { signOff } = evidenceOf(signed(), NOW);
    const { via, note } = signOff?.person ?? {};
    assert.deepEqual([signOff?.verifier, via, note], ["automatic", "dialog", "I looked at it."]);
  });

  test("has the reviewer's words and the versions of the tools beside each round", () => {
    const { rounds } = evidenceOf(reviewed(), NOW);
    assert.deepEqual(
      rounds.map(({ review }) => [review?.verdict, review?.code, review?.model, review?.looks]),
      [
        ["revise", null, "lab/reviewer", 3],
        ["unavailable", "timeout", "lab/reviewer", 3],
      ],
    );
    assert.deepEqual(rounds[0]?.review?.findings, [
      { file: "a.ts", line: 3, problem: "Special-cased." },
      { file: null, line: null, problem: "In general." },
    ]);
    const night = evidenceOf(longTask(450).report(), NOW);
    assert.deepEqual(night.rounds[0]?.review, null);
    assert.ok(rounds.every(({ versions }) => versions === null || typeof versions["git"] === "string"));
  });

  test("of a hostile log is JSON with nothing but its text in it", () => {
    const text = JSON.stringify(evidenceOf(hostileReport(), NOW), null, 2);
    assert.doesNotMatch(text, /[\u0000-\u0009\u000b-\u001f]/);
  });
});
