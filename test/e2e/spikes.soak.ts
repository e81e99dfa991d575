/** Each spike against a scripted model: it passes, and its evidence holds. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { TOPICS } from "../../scripts/spike/evidence.ts";
import { PACKAGE_ROOT } from "../support/pi-setup.ts";
import { createLab } from "../support/workspace.ts";
import { assertClean, assertSilent, assertSound, evidenceOf, type Name, spike } from "./spike-house.ts";

const RUNS: readonly {
  name: Name;
  decision?: "allow" | "deny";
  env?: Readonly<Record<string, string>>;
  topics: readonly string[];
}[] = [
  {
    name: "transport",
    topics: [
      "start-up",
      "prompt-delivery",
      "framing",
      "duplicate-message",
      "timeout",
      "recovery",
      "takeover-and-resume",
      "stop",
    ],
  },
  { name: "permissions", decision: "allow", topics: ["start-up", "permissions", "stop"] },
  { name: "permissions", decision: "deny", topics: ["start-up", "permissions", "stop"] },
  {
    name: "automation",
    env: { SPIKE_AUTOMATION_PERMISSION: "1", SPIKE_AUTOMATION_QUESTION: "1" },
    topics: ["automation"],
  },
  { name: "signals", topics: ["start-up", "recovery", "stop", "crash", "group-cleanup"] },
];

/** First cells of the tables below "The evidence" in docs/spikes.md, as words. */
async function documented(): Promise<string[]> {
  const page = await readFile(join(PACKAGE_ROOT, "docs", "spikes.md"), "utf8");
  const cells = page.slice(page.indexOf("## The evidence")).match(/^\| `[^|]+/gm) ?? [];
  return cells.flatMap((cell) => [...cell.matchAll(/`([a-zA-Z-]+)`/g)].map((match) => match[1] ?? ""));
}

test("together the spikes cover every topic", () => {
  assert.deepEqual([...new Set(RUNS.flatMap(({ topics }) => topics))].sort(), [...TOPICS].sort());
});

describe("against a scripted model", { concurrency: 2 }, () => {
  for (const { name, decision, env: more, topics } of RUNS) {
    test(`spike:${name}${decision ? ` (${decision})` : ""} records evidence that holds`, async (t: TestContext) => {
      const lab = await createLab(t);
      const out = join(lab.root, "evidence.json");
      const env = { ...lab.env, CI: "true", ...more, ...(decision ? { SPIKE_PERMISSION_DECISION: decision } : {}) };
      const ran = await spike(name, ["--scripted", "--out", out], env);
      assert.equal(ran.code, 0, `${ran.stdout}${ran.stderr}`);
      assert.ok(ran.stdout.endsWith(`evidence: ${out}\n`), ran.stdout);
      const evidence = await evidenceOf(out);
      assert.equal(evidence.mode, "scripted");
      assertSound(evidence, name);
      assertSilent(ran, lab, evidence);
      const covered = Object.entries(evidence.topics).flatMap(([topic, state]) => (state === "ok" ? [topic] : []));
      assert.deepEqual(covered.sort(), [...topics].sort());
      assert.deepEqual((await documented()).sort(), [...Object.keys(evidence), ...TOPICS].sort());
      if (decision) {
        const held = evidence.checks.find((check) => check.name === `the decision holds: ${decision}`);
        assert.deepEqual([held?.observed.ran, held?.observed.toolError], [decision === "allow", decision === "deny"]);
      }
      if (name === "automation") {
        const decisions = evidence.checks.flatMap((check) => check.observed.decisions ?? []);
        assert.deepEqual(decisions, ["tool:approve", "turn-end:verify", "question:answer", "turn-end:verify"]);
      }
      await assertClean(lab);
    });
  }
});
