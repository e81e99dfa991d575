import assert from "node:assert/strict";
import { appendFileSync } from "node:fs";
import { test } from "node:test";
import { systemClock } from "../../src/platform/clock.ts";
import type { SupervisorDeps } from "../../src/supervisor/deps.ts";
import { followLog } from "../../src/supervisor/follow.ts";
import { memoryFolder, mustBeOk, newLog, newTaskId, note } from "../store/temp-store.ts";

test("a followed log gives what is there, then what is appended, each record once, and ends with damage", async (t) => {
  const taskId = newTaskId();
  const { path, log } = newLog(memoryFolder(t), { taskId });
  mustBeOk(log.append(["one", "two", "three"].map(note)));
  const deps = { layout: { task: () => ({ log: path }) }, clock: systemClock } as unknown as SupervisorDeps;
  const seen: number[] = [];
  const ended = await followLog(
    deps,
    taskId,
    2,
    ({ seq }) => {
      seen.push(seq);
      if (seq === 3) setTimeout(() => mustBeOk(log.append(["four", "five"].map(note))), 1);
      if (seq === 5) setTimeout(() => mustBeOk(log.append([note("six")])), 1);
      if (seq === 6) appendFileSync(path, "{}\n");
    },
    AbortSignal.timeout(60_000),
  );
  log.closeNow();
  assert.deepEqual(seen, [2, 3, 4, 5, 6]);
  assert.equal(ended.ok ? "ended by the signal" : ended.reason, "log-damaged");
});
