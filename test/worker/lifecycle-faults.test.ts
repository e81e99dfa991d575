/** The adapter's part of groups D and E of the failure cases: turns, exits, orphans, and pipes that break. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { describe, test } from "node:test";
import { assertNoneLeft, isAlive } from "../support/processes.ts";
import { until } from "../support/until.ts";
import { readyFake } from "./fake-scene.ts";

const NOW = { kind: "now", graceMs: 0 } as const;

describe("turns", () => {
  test("D10: a send that is repeated under its key is written once, and acknowledged by it", async (t) => {
    const { driven, fake } = await readyFake(t, "obedient");
    const key = randomUUID();
    await driven.worker.send("only once", key);
    await driven.next("prompt-ack", (ack) => ack.promptId === key && ack.state === "completed");
    assert.deepEqual(await driven.worker.send("only once", key), { ok: true });
    await driven.prompt("another");
    await until(() => driven.of("result").length === 2, 5000, "two results");
    assert.equal(fake.factsOf("stdin").filter((fact) => fact.line.includes("only once")).length, 1);
  });

  test("D15: an output that breaks off is a truncated line and an exit, never a result", async (t) => {
    const { driven } = await readyFake(t, "breaksOff");
    await driven.prompt("go");
    const exited = await driven.next("exited");
    assert.deepEqual([exited.code, exited.signal], [143, null]);
    assert.deepEqual(driven.of("result"), []);
    assert.deepEqual(
      driven.of("protocol-error").map((error) => error.code),
      ["truncated"],
    );
    const types = driven.events.map((event) => event.type);
    assert.ok(types.indexOf("protocol-error") < types.indexOf("exited"));
  });
});

describe("what a worker leaves behind", () => {
  for (const cgroup of ["auto", "off"] as const) {
    test(`E1, E2, E6: children in its group, its own session and adopted ones are ended and counted (cgroup ${cgroup})`, async (t) => {
      const kinds = ["group", "setsid", "daemon"];
      const { driven, fake, lab } = await readyFake(t, "parent", { kinds, leave: true }, { input: { cgroup } });
      await driven.prompt("go");
      assert.equal((await driven.next("exited")).code, 0);
      const outcome = await driven.worker.stop({ kind: "graceful", graceMs: 1000 });
      assert.ok(outcome.proven);
      assert.ok(outcome.killed >= 3, `killed ${outcome.killed}`);
      for (const { pid } of fake.factsOf("child")) assert.equal(isAlive(pid), false);
      await assertNoneLeft(lab.mark, 1000);
    });
  }

  test("a child that holds the pipes open does not keep the exit from being reported", async (t) => {
    const { driven, lab } = await readyFake(t, "parent", { kinds: ["pipes"], leave: true });
    await driven.prompt("go");
    assert.equal((await driven.next("exited", () => true, 5000)).code, 0);
    assert.equal((await driven.worker.stop(NOW)).proven, true);
    await assertNoneLeft(lab.mark, 1000);
  });

  test("E3: one that ignores TERM and spins is killed after the grace, within a bound", async (t) => {
    const { driven, lab } = await readyFake(t, "stubborn", { spin: true });
    await driven.prompt("go");
    await driven.next("result");
    const outcome = await driven.worker.stop({ kind: "graceful", graceMs: 300 });
    assert.equal(outcome.proven, true);
    assert.ok(outcome.durationMs >= 300 && outcome.durationMs < 5000, `took ${outcome.durationMs} ms`);
    await assertNoneLeft(lab.mark, 1000);
  });

  test("a graceful stop that becomes an immediate one does not wait for the rest of the grace", async (t) => {
    const { driven, fake, lab } = await readyFake(t, "stubborn");
    await driven.prompt("go");
    await driven.next("result");
    const graceful = driven.worker.stop({ kind: "graceful", graceMs: 60_000 });
    await until(() => fake.factsOf("signal").some((fact) => fact.signal === "SIGTERM"), 10_000, "TERM");
    const outcomes = await Promise.all([driven.worker.stop(NOW), graceful]);
    assert.deepEqual(
      outcomes.map((outcome) => outcome.proven),
      [true, true],
    );
    await assertNoneLeft(lab.mark, 1000);
  });

  test("a stop that comes during a pause does not wait for the pause", async (t) => {
    const { driven, fake } = await readyFake(t, "stubborn");
    await driven.prompt("go");
    await driven.next("result");
    const pausing = driven.worker.pause(60_000);
    await until(() => fake.factsOf("stdin-end").length === 1, 5000, "the end of its input");
    const stopping = driven.worker.stop({ kind: "graceful", graceMs: 300 });
    await until(() => fake.factsOf("signal").length > 0, 2000, "TERM");
    await driven.worker.stop(NOW);
    assert.deepEqual(await pausing, await stopping);
  });

  test("E8: a stop while it talks wins; its words never reach the worker, and what comes late is only late", async (t) => {
    const { driven, fake, lab } = await readyFake(t, "chatters");
    await driven.prompt("go");
    await until(() => driven.of("text").length > 20, 5000, "some talk");
    assert.equal((await driven.worker.stop({ kind: "graceful", graceMs: 2000 })).proven, true);
    assert.equal(driven.events.at(-1)?.type, "exited");
    const prompts = fake.factsOf("stdin").filter((fact) => fact.line.includes('"type":"user"'));
    assert.equal(prompts.length, 1);
    await assertNoneLeft(lab.mark, 1000);
  });

  test("the order of a graceful stop: interrupt, end of input, TERM", async (t) => {
    const { driven, fake } = await readyFake(t, "stubborn");
    await driven.prompt("go");
    await driven.next("result");
    await driven.worker.stop({ kind: "graceful", graceMs: 100 });
    const seen = fake
      .facts()
      .flatMap((fact) =>
        fact.fact === "signal"
          ? [fact.signal]
          : fact.fact === "stdin" && fact.line.includes('"interrupt"')
            ? ["interrupt"]
            : fact.fact === "stdin-end"
              ? ["EOF"]
              : [],
      );
    assert.deepEqual(seen, ["interrupt", "EOF", "SIGTERM"]);
  });
});

describe("pipes", () => {
  test("a worker that closes its input costs a failed send, not the process", async (t) => {
    const { driven } = await readyFake(t, "hangsUp");
    await driven.prompt("go");
    await driven.next("result");
    const results = [];
    for (let attempt = 0; attempt < 3; attempt++)
      results.push(await driven.worker.send("x".repeat(70_000), randomUUID()));
    assert.deepEqual(results.map((result) => (result.ok ? "ok" : result.reason)).slice(-1), ["worker-gone"]);
    assert.equal((await driven.worker.stop(NOW)).proven, true);
  });

  test("a worker that does not read: what waits for it is bounded, and a stop still works", async (t) => {
    const { driven, fake } = await readyFake(t, "deaf");
    await driven.prompt("go");
    await until(() => fake.factsOf("note").length === 1, 5000, "its silence");
    const sends = Array.from({ length: 12 }, () => driven.worker.send("x".repeat(1_000_000), randomUUID()));
    const refused = await Promise.race(
      sends.map(async (send) => ((await send).ok ? new Promise(() => undefined) : send)),
    );
    assert.equal((refused as { reason: string }).reason, "backpressure");
    assert.equal((await driven.worker.stop(NOW)).proven, true);
    const settled = await Promise.all(sends);
    assert.ok(settled.some((result) => !result.ok && result.reason === "worker-gone"));
  });

  test("a worker that was stopped by SIGSTOP ends all the same", async (t) => {
    const { driven, lab } = await readyFake(t, "obedient");
    const pid = driven.worker.getStatus().leader?.pid ?? 0;
    process.kill(pid, "SIGSTOP");
    const outcome = await driven.worker.stop({ kind: "graceful", graceMs: 1000 });
    assert.equal(outcome.proven, true);
    await assertNoneLeft(lab.mark, 1000);
  });

  test("liveness is told at most once a second, however much comes", async (t) => {
    const { driven } = await readyFake(t, "flood", { count: 20_000 });
    await driven.prompt("go");
    await driven.next("result");
    assert.ok(driven.of("heartbeat").length <= 3);
    assert.ok((driven.worker.getStatus().lastLineAgeMs ?? -1) >= 0);
  });
});
