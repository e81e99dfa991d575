/** What every transport has to do, and what it has to refuse when its capabilities say no. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { describe, type TestContext, test } from "node:test";
import type { TransportName, WorkerCapabilities } from "../../src/core/contracts/worker.ts";
import { assertNoneLeft } from "../support/processes.ts";
import type { Driven } from "./driver.ts";
import { type FakeScene, fakeScene, readyFake } from "./fake-scene.ts";

const CAPABILITIES: Record<TransportName, WorkerCapabilities> = {
  "claude-jsonl": { permission: true, defer: true, resumeSession: true, takeover: true, interrupt: true },
  "process-pipe": { permission: false, defer: false, resumeSession: false, takeover: false, interrupt: false },
};
const NOW = { kind: "now", graceMs: 0 } as const;

function reasonOf(result: { ok: boolean; reason?: string }): string {
  return result.ok ? "ok" : (result.reason ?? "");
}

/** A good turn's end: a result message, or in plain text the exit. */
async function turnEnd(driven: Driven): Promise<void> {
  if (driven.worker.transport === "claude-jsonl") {
    const result = await driven.next("result");
    assert.deepEqual([result.isError, result.subtype], [false, "success"]);
  } else {
    assert.equal((await driven.next("exited")).code, 0);
    assert.deepEqual(driven.of("result"), []);
  }
}

for (const transport of ["claude-jsonl", "process-pipe"] as const) {
  const make = (t: TestContext, scenario = "obedient"): Promise<FakeScene> => fakeScene(t, scenario, {}, { transport });
  const ready = (t: TestContext, scenario = "obedient"): Promise<FakeScene> =>
    readyFake(t, scenario, {}, { transport });

  describe(transport, () => {
    test("says what it can do", async (t) => {
      const { driven } = await make(t);
      assert.equal(driven.worker.transport, transport);
      assert.deepEqual(driven.worker.capabilities, CAPABILITIES[transport]);
    });

    test("is contained before anything of the program runs, and ready after it", async (t) => {
      const { lab, fake, driven } = await fakeScene(
        t,
        "obedient",
        {},
        { transport, deps: { recorded: async () => assert.deepEqual(fakeFacts(), []) } },
      );
      const fakeFacts = (): unknown[] => fake.facts();
      assert.equal((await driven.worker.start()).ok, true);
      assert.deepEqual(
        driven.events.filter((event) => event.type !== "heartbeat").map((event) => event.type),
        ["spawned", "ready"],
      );
      const [spawned] = driven.of("spawned");
      assert.deepEqual(driven.worker.getStatus().leader, spawned?.containment.leader);
      assert.equal(driven.worker.getStatus().phase, "ready");
      assert.equal((await driven.worker.stop(NOW)).proven, true);
      await assertNoneLeft(lab.mark, 2000);
    });

    test("is not let run when its record could not be written", async (t) => {
      const failing = async (): Promise<void> => {
        throw new Error("disk full");
      };
      const { lab, fake, driven } = await fakeScene(t, "obedient", {}, { transport, deps: { recorded: failing } });
      const started = await driven.worker.start();
      assert.ok(!started.ok);
      assert.equal(started.reason, "not-recorded");
      assert.match(started.message, /disk full/);
      assert.deepEqual(fake.facts(), []);
      await assertNoneLeft(lab.mark, 2000);
    });

    test("takes a prompt, gives its text and a result, and shows its output", async (t) => {
      const { driven } = await ready(t);
      await driven.prompt("漢字 😀");
      await turnEnd(driven);
      const said = driven.of("text").map((event) => event.text);
      assert.match(said.join(""), transport === "claude-jsonl" ? /^ok$/ : /you said: 漢字 😀/);
      assert.ok(driven.worker.readOutput(1 << 20).length > 0);
      assert.equal(driven.worker.readOutput(4).length <= 4, true);
      const status = driven.worker.getStatus();
      assert.ok(status.bytesRead > 0 && status.linesRead > 0);
    });

    test("passes the prompt by stdin and never on the command line", async (t) => {
      const { driven, fake } = await ready(t);
      await driven.prompt("the words of the prompt");
      await turnEnd(driven);
      const [start] = fake.factsOf("start");
      assert.ok(!start?.argv.join(" ").includes("the words"));
    });

    test("stops with proof, more than once, and joins a stop in progress", async (t) => {
      const { driven, lab } = await ready(t);
      const outcomes = await Promise.all([
        driven.worker.stop({ kind: "graceful", graceMs: 2000 }),
        driven.worker.stop({ kind: "graceful", graceMs: 2000 }),
        driven.worker.stop(NOW),
        driven.worker.killProcessGroup(),
      ]);
      assert.deepEqual(
        outcomes.map((outcome) => outcome.proven),
        [true, true, true, true],
      );
      assert.equal((await driven.worker.stop(NOW)).proven, true);
      assert.equal(driven.of("exited").length, 1);
      assert.equal(driven.worker.getStatus().phase, "gone");
      await assertNoneLeft(lab.mark, 1000);
    });

    test("stopped before its start it never starts; started twice it refuses the second", async (t) => {
      const early = await make(t);
      assert.equal((await early.driven.worker.stop(NOW)).proven, true);
      assert.equal(reasonOf(await early.driven.worker.start()), "stopped");
      assert.deepEqual(early.fake.facts(), []);
      const { driven } = await ready(t);
      assert.equal(reasonOf(await driven.worker.start()), "already-started");
      assert.equal(driven.worker.getStatus().phase, "ready");
    });

    test("a stop that races the start wins, and leaves nothing", async (t) => {
      const { driven, lab } = await make(t);
      const starting = driven.worker.start();
      const outcome = await driven.worker.stop(NOW);
      assert.equal(outcome.proven, true);
      assert.equal(reasonOf(await starting), "stopped");
      await assertNoneLeft(lab.mark, 1000);
    });

    test("a prompt after the stop is refused, one that races it settles", async (t) => {
      const { driven } = await ready(t);
      const racing = driven.worker.send("race", randomUUID());
      const stopping = driven.worker.stop(NOW);
      await stopping;
      await racing;
      assert.equal(reasonOf(await driven.worker.send("late", randomUUID())), "worker-gone");
    });

    test("a listener that was taken off hears nothing more", async (t) => {
      const { driven } = await make(t);
      const heard: string[] = [];
      const off = driven.worker.subscribe((event) => heard.push(event.type));
      off();
      await driven.worker.start();
      assert.deepEqual(heard, []);
    });

    test("a pause ends it gracefully, at the end of its input", async (t) => {
      const { driven, fake, lab } = await ready(t);
      const outcome = await driven.worker.pause(10_000);
      assert.equal(outcome.proven, true);
      assert.deepEqual(fake.factsOf("signal"), []);
      assert.equal(fake.factsOf("stdin-end").length + fake.factsOf("note").length > 0, true);
      assert.equal((await driven.next("exited")).code, 0);
      await assertNoneLeft(lab.mark, 1000);
    });

    test("an unexpected exit is reported once, with its code and last words", async (t) => {
      const { driven } = await ready(t, transport === "claude-jsonl" ? "breaksOff" : "exits");
      await driven.prompt("go");
      const exited = await driven.next("exited");
      assert.equal(exited.code, transport === "claude-jsonl" ? 143 : 1);
      if (transport === "process-pipe") assert.match(exited.stderrTail, /it broke/);
      assert.equal(driven.of("exited").length, 1);
    });

    test("sends one prompt once, whatever repeats its key", async (t) => {
      const { driven, fake } = await ready(t);
      const key = randomUUID();
      const results = await Promise.all([driven.worker.send("once", key), driven.worker.send("once", key)]);
      assert.deepEqual(results.map(reasonOf), ["ok", "ok"]);
      assert.equal(reasonOf(await driven.worker.send("other", key)) === "ok", false);
      assert.equal(reasonOf(await driven.worker.send("x", "no-uuid")) === "ok", false);
      await turnEnd(driven);
      const said = fake.facts().filter((fact) => JSON.stringify(fact).includes("once"));
      assert.equal(said.length, 1);
    });
  });
}

describe("a transport that cannot", () => {
  const REFUSALS: [string, (scene: FakeScene) => Promise<{ ok: boolean; reason?: string }>][] = [
    ["answer a tool call", ({ driven }) => driven.worker.reply("any", { decision: "allow" })],
    ["defer a tool call", ({ driven }) => driven.worker.reply("any", { decision: "defer" })],
    ["interrupt", ({ driven }) => driven.worker.interrupt()],
    ["be taken over", ({ driven }) => driven.worker.takeover(1000)],
  ];
  for (const [what, attempt] of REFUSALS) {
    test(`process-pipe refuses to ${what}`, async (t) => {
      const scene = await readyFake(t, "obedient", {}, { transport: "process-pipe" });
      assert.equal(reasonOf(await attempt(scene)), "no-capability");
      assert.equal(scene.driven.worker.getStatus().phase, "ready");
    });
  }

  test("process-pipe refuses to resume a session, and starts nothing", async (t) => {
    const { driven, fake } = await fakeScene(t, "obedient", {}, { transport: "process-pipe", input: { resume: true } });
    assert.equal(reasonOf(await driven.worker.start()), "no-capability");
    assert.deepEqual(fake.facts(), []);
  });

  test("process-pipe takes one prompt a process", async (t) => {
    const { driven } = await readyFake(t, "silent", {}, { transport: "process-pipe" });
    await driven.prompt("first");
    assert.equal(reasonOf(await driven.worker.send("second", randomUUID())), "one-prompt");
  });
});
