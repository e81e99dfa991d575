/** Starts, prompts, pauses and stops that race each other at random moments: always proven, never anything left. */
import assert from "node:assert/strict";
import { randomInt, randomUUID } from "node:crypto";
import { test } from "node:test";
import { fakeClaude } from "../support/fake-claude/index.ts";
import { assertNoneLeft } from "../support/processes.ts";
import { createLab } from "../support/workspace.ts";
import { drive } from "./driver.ts";
import { FAKE_FACTS } from "./fake-scene.ts";

const ROUNDS = 300;
const SCENARIOS = ["obedient", "chatters", "stubborn", "silent", "deaf", "parent", "breaksOff"] as const;

/** Deterministic for a seed (xorshift). */
function dice(seed: number): (sides: number) => number {
  let state = seed || 1;
  return (sides) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % sides;
  };
}

const seed = Number(process.env.SEED ?? randomInt(1, 2 ** 31));

test(`${ROUNDS} races of start, send, pause and stop (SEED=${seed})`, async (t) => {
  const lab = await createLab(t);
  const roll = dice(seed);
  for (let round = 0; round < ROUNDS; round++) {
    const scenario = SCENARIOS[roll(SCENARIOS.length)] ?? "obedient";
    const fake = fakeClaude(lab.root, scenario, { kinds: ["setsid", "daemon"] });
    const cgroup = roll(2) === 0 ? "auto" : "off";
    const driven = await drive({
      lab,
      cwd: lab.root,
      executable: FAKE_FACTS,
      env: fake.env,
      input: { cgroup, startupTimeoutMs: 150 + roll(600) },
    });
    const { worker } = driven;
    const starting = worker.start();
    const acts: Promise<unknown>[] = [starting];
    for (let left = roll(4); left > 0; left--) {
      await new Promise((resolve) => setTimeout(resolve, roll(60)));
      const act = roll(4);
      if (act === 0) acts.push(worker.send("go", randomUUID()));
      if (act === 1) acts.push(worker.interrupt());
      if (act === 2) acts.push(worker.pause(roll(200)));
      if (act === 3) acts.push(worker.stop({ kind: "graceful", graceMs: roll(300) }));
    }
    const outcome = await worker.stop({ kind: "now", graceMs: 0 });
    assert.equal(outcome.proven, true, `round ${round}: ${scenario} ${JSON.stringify(outcome)}`);
    await Promise.all(acts);
    assert.ok(driven.of("exited").length <= 1, `round ${round}`);
    assert.equal(worker.getStatus().phase, "gone", `round ${round}: ${scenario}`);
    await assertNoneLeft(lab.mark, 3000);
  }
});
