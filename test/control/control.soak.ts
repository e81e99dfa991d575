/** Random interleavings of everything that touches one control folder, from two ports at once. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { StopChecker } from "../../src/control/check.ts";
import { openControl } from "../../src/control/controller.ts";
import { readFloorFile, readLatchFile, readRecordFile } from "../../src/control/files.ts";
import { resume } from "../../src/control/resume.ts";
import { ALL, setLatch } from "../../src/control/set-latch.ts";
import { identify } from "../../src/platform/process/index.ts";
import { ACTOR, type Lab, lab, latchRequest } from "./support.ts";

const redact = (text: string): string => text;
const acts = fc.constantFrom(
  "stop",
  "pause",
  "resume",
  "enroll",
  "register",
  "end",
  "acknowledge",
  "report",
  "stop one",
);

test("no order of acts lets anything begin under a stop, lowers an epoch, or completes a stopped task", {
  timeout: 600_000,
}, async () => {
  const me = identify(process.pid);
  assert.ok(me);
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(acts, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 6 }),
      async (rounds) => {
        const cleanUps: (() => unknown)[] = [];
        const where: Lab = lab({ after: (run: () => unknown) => void cleanUps.push(run) } as unknown as Parameters<
          typeof lab
        >[0]);
        try {
          const ports: Port[] = [];
          for (let count = 0; count < 2; count += 1) {
            const opened = await openControl({ env: where.env, redact, pollMs: 1000 });
            assert.ok(opened.ok);
            where.after(() => opened.control.close());
            ports.push(opened.control);
          }
          let highest = 0;
          for (const round of rounds) {
            await Promise.all(round.map((act, index) => perform(where, ports[index % 2], act, me.bootId)));
            const floor = readFloorFile(where.folder);
            const epoch = floor.state === "read" ? floor.value.epoch : 0;
            assert.ok(epoch >= highest, `the epoch went from ${highest} to ${epoch}`);
            highest = epoch;
            const latch = readLatchFile(where.folder);
            const isHeld = latch.state === "read" && latch.value.state !== "clear";
            assert.equal(
              new StopChecker(where.folder).check().clear,
              !isHeld,
              "memory of one check agrees with the disk",
            );
            const record = readRecordFile(where.folder, "one");
            if (record.state !== "read" || latch.state !== "read" || !isHeld) continue;
            assert.notEqual(record.value.state, "running", "nothing runs under a latch once the acts are done");
          }
        } finally {
          for (const cleanUp of cleanUps) await cleanUp();
        }
      },
    ),
    { numRuns: Number(process.env["SOAK_RUNS"] ?? 1000) },
  );
});

type Port = Extract<Awaited<ReturnType<typeof openControl>>, { ok: true }>["control"];

async function perform(where: Lab, port: Port | undefined, act: string, bootId: string): Promise<void> {
  if (port === undefined) return;
  const task = port.task("one");
  switch (act) {
    case "stop":
    case "pause":
      await setLatch(where.folder, latchRequest(act, ALL));
      return;
    case "stop one":
      await setLatch(where.folder, latchRequest("stop", "one"));
      return;
    case "resume": {
      const latch = readLatchFile(where.folder);
      const epoch = latch.state === "read" ? latch.value.epoch : 0;
      await resume(where.folder, { scope: ALL, epoch, reason: "x", actor: ACTOR, requestId: "r" });
      return;
    }
    case "enroll":
      await port.enroll({ identity: "one", taskId: "one", cwd: "/usr" });
      return;
    case "register": {
      const before = task?.check();
      const gone = { pid: 2 ** 22 + 1, startTicks: "1", bootId };
      const registered = await task?.register({ id: "w", kind: "process", process: gone, what: "w" });
      const after = task?.check();
      const isSame = before?.clear === false && after?.clear === false && before.epoch === after.epoch;
      if (isSame) assert.equal(registered?.ok, false, "nothing is registered under a stop");
      return;
    }
    case "end":
      await task?.end("completed");
      return;
    case "acknowledge":
      await task?.acknowledge(port.check("one").epoch);
      return;
    default:
      await task?.report(port.check("one").epoch, {});
  }
}
