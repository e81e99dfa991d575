/** A stand-in for Pi: opens the port, enrolls identities, runs a dummy worker for each, and acts on orders as told. */
import { randomBytes } from "node:crypto";
import { closeSync, openSync } from "node:fs";
import { openControl } from "../../src/control/controller.ts";
import { stopTree } from "../../src/platform/containment/index.ts";
import { createRedactor } from "../../src/redaction/index.ts";
import { type Dummy, dummyWorker } from "./support.ts";

const say = (event: string, more: object = {}): void => {
  process.stdout.write(`${JSON.stringify({ event, ...more })}\n`);
};

const manner = process.env["FAKE_MANNER"] ?? "obedient";
const identities = (process.env["FAKE_IDENTITIES"] ?? "").split(",").filter(Boolean);
const redactor = createRedactor({ salt: randomBytes(8).toString("hex") });
const opened = await openControl({
  redact: redactor.text,
  ...(process.env["FAKE_INSTANCE"] ? { instanceId: process.env["FAKE_INSTANCE"] } : {}),
});
if (!opened.ok) {
  say("refused", { reason: opened.reason, message: opened.message });
  process.exit(3);
}
const { control } = opened;
const workers = new Map<string, Dummy>();
control.onStop(async (order) => {
  say("order", { order });
  if (manner === "deaf") return;
  const task = control.task(order.identity);
  await task?.acknowledge(order.epoch);
  if (manner === "stubborn") return;
  const worker = workers.get(order.identity);
  if (worker) await stopTree(worker.resource.tree, { kind: "now", graceMs: 0 });
  const reported = await task?.report(order.epoch, {
    cleanup: [{ resource: "worker", step: "kill", outcome: "done", detail: "by the fake controller" }],
  });
  say("reported", { reported });
});
for (const identity of identities) {
  const enrolled = await control.enroll({
    identity,
    taskId: identity,
    cwd: process.env["FAKE_CWD"] === undefined ? "/" : "/usr",
  });
  if (!enrolled.ok) {
    say("refused", { identity, reason: enrolled.reason, message: enrolled.message });
    continue;
  }
  const worker = await dummyWorker({ after: () => undefined }, `${identity}-worker`);
  workers.set(identity, worker);
  say("registered", { resource: worker.resource, outcome: await enrolled.task.register(worker.resource) });
}
if (manner === "exhausted") await useUp();
say("ready", { socket: control.socket });
process.stdin.resume();

/** Until the system gives no more files, also none that something else gave back; `free` on standard input gives them back. */
async function useUp(): Promise<void> {
  const open: number[] = [];
  const more = (): number => {
    const before = open.length;
    try {
      for (;;) open.push(openSync("/dev/null", "r"));
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "EMFILE")) throw error;
    }
    return open.length - before;
  };
  more();
  for (let quiet = 0; quiet < 20; quiet = more() > 0 ? 0 : quiet + 1)
    await new Promise((resolve) => setTimeout(resolve, 10));
  const keeping = setInterval(more, 2);
  process.stdin.once("data", () => {
    clearInterval(keeping);
    for (const fd of open) closeSync(fd);
  });
}
