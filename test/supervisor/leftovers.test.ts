import assert from "node:assert/strict";
import { test } from "node:test";
import type { WorkerAdapter } from "../../src/core/contracts/worker.ts";
import { manualClock } from "../../src/platform/clock.ts";
import { OPENING, openStage } from "./stage.ts";

/** The same worker, whose status names a tree that nobody can look into. */
function unreadable(worker: WorkerAdapter): WorkerAdapter {
  return new Proxy(worker, {
    get(target, name) {
      if (name !== "getStatus") {
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === "function" ? value.bind(target) : value;
      }
      return () => {
        const status = target.getStatus();
        const { containment } = status;
        return containment ? { ...status, containment: { ...containment, marker: "of nobody" } } : status;
      };
    },
  });
}

test("leftovers that can't be told are not taken for none: the verification waits for them, says so, and runs", async (t) => {
  const clock = manualClock(new Date());
  const stage = await openStage(t, {
    steps: [...OPENING, { result: {} }],
    seams: (deps) => ({
      clock,
      createWorker: (...given: Parameters<typeof deps.createWorker>) => unreadable(deps.createWorker(...given)),
    }),
  });
  const taskId = await stage.start({ mode: "auto" });
  await stage.when(taskId, (view) => view.state === "verifying", "the wait before the verification");
  let waited = 0;
  await stage.when(
    taskId,
    (view) => {
      if (view.state === "completed") return true;
      waited += 1_000;
      clock.advance(1_000);
      return false;
    },
    "the verification",
  );
  assert.ok(waited >= 120_000, `${waited} ms of the task's own clock`);
  const notices = (await stage.events(taskId)).filter((event) => event.type === "notice");
  assert.match(JSON.stringify(notices), /could not be told whether processes of the worker were left/);
});
