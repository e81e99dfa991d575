/**
 * `npm run spike:transport [-- --scripted] [-- --out FILE]`: the adapter against a real Claude Code, without Pi. Start-up,
 * delivery of a prompt, framing, a prompt sent twice, a start that takes too long, going on with a session, takeover.
 */
import { randomUUID } from "node:crypto";
import type { Driven } from "../test/worker/driver.ts";
import { PROMPT } from "./spike/room.ts";
import { runSpike, type Spike } from "./spike/run.ts";
import { noneLeft, started, TURN_MS, toolRuns } from "./spike/steps.ts";

/** Milliseconds for Claude to leave by itself. */
const EXIT_MS = 10_000;

await runSpike("transport", async (spike) => {
  const cwd = await spike.room.workspace("cat planted.txt\n");
  const first = await spike.worker(cwd, { decide: () => "allow" });
  if (!(await startUp(spike, first))) return;
  await delivery(spike, first);
  await duplicate(spike, first);
  await framing(spike, first);
  await goingOn(spike, first, cwd);
  await takeover(spike);
  await refusedStarts(spike, cwd);
});

function startUp(spike: Spike, worker: Driven): Promise<boolean> {
  return spike.check("start-up", "the handshake confirms the gate", async (seen) => {
    const began = performance.now();
    const result = await started(worker, seen);
    const spawned = await worker.next("spawned");
    seen.put({
      readyMs: Math.round(performance.now() - began),
      containment: spawned.containment.kind,
      guardian: spawned.containment.guardian !== undefined,
      promptInArguments: spawned.argv.some((word) => word.includes(PROMPT)),
    });
    return result && !spawned.argv.some((word) => word.includes(PROMPT));
  });
}

async function delivery(spike: Spike, worker: Driven): Promise<void> {
  await spike.check(
    "prompt-delivery",
    "a prompt is acknowledged, its call is asked, its result arrives",
    async (seen) => {
      const began = performance.now();
      const since = (): number => Math.round(performance.now() - began);
      const key = await worker.prompt(PROMPT);
      const init = await worker.next("init", undefined, TURN_MS);
      const initMs = since();
      await worker.next("hook", undefined, TURN_MS);
      const hookMs = since();
      const result = await worker.next("result", undefined, TURN_MS);
      seen.put({ initMs, hookMs, resultMs: since(), tools: init.tools, permissionMode: init.permissionMode });
      const states = worker.of("prompt-ack").flatMap((ack) => (ack.promptId === key ? [ack.state] : []));
      seen.put({
        acknowledged: states,
        subtype: result.subtype,
        isError: result.isError,
        terminalReason: result.terminalReason ?? null,
        numTurns: result.numTurns ?? null,
      });
      return !result.isError && init.permissionMode === "default" && init.sessionId === worker.input.sessionId;
    },
  );
}

async function duplicate(spike: Spike, worker: Driven): Promise<void> {
  await spike.check("duplicate-message", "a message sent twice under one id is one turn", async (seen) => {
    const before = { results: worker.of("result").length, requests: spike.room.modelRequests() };
    const key = randomUUID();
    const sent = await Promise.all([worker.worker.send(PROMPT, key), worker.worker.send(PROMPT, key)]);
    const other = await worker.worker.send(`${PROMPT} `, key);
    await worker.next("prompt-ack", (ack) => ack.promptId === key && ack.state === "completed", TURN_MS);
    const results = worker.of("result").length - before.results;
    const asked = spike.room.modelRequests();
    const requests = asked === null || before.requests === null ? null : asked - before.requests;
    seen.put({
      accepted: sent.filter((each) => each.ok).length,
      otherTextUnderThatId: other.ok ? "accepted" : other.reason,
      results,
      requests,
    });
    return results === 1 && !other.ok && other.reason === "key-conflict" && (requests === null || requests === 2);
  });
}

async function framing(spike: Spike, worker: Driven): Promise<void> {
  await spike.check("framing", "every line was understood", async (seen) => {
    const { linesRead, bytesRead, noiseLines } = worker.worker.getStatus();
    const [errors, unknown] = [worker.of("protocol-error"), worker.of("unknown")];
    const types = unknown.map(({ messageType, subtype }) => [messageType, subtype ?? []].flat().join("/"));
    seen.put({ linesRead, bytesRead, noiseLines, protocolErrors: errors.map(({ code }) => code) });
    // A newer Claude may say more than we know: that is told and is no failure.
    seen.put({ unknownMessages: [...new Set(types)] });
    return errors.length === 0 && linesRead > 0;
  });
}

async function goingOn(spike: Spike, first: Driven, cwd: string): Promise<void> {
  await spike.check("stop", "at rest, the end of its input ends it", async (seen) => {
    const outcome = await first.worker.pause(EXIT_MS);
    const exited = await first.next("exited");
    seen.exit(exited);
    seen.put({ proven: outcome.proven, ms: outcome.durationMs, code: exited.code });
    return outcome.proven && exited.code === 0 && (await noneLeft(spike, seen));
  });
  await spike.check("recovery", "another process goes on with the session", async (seen) => {
    const input = { sessionId: first.input.sessionId, resume: true };
    const second = await spike.worker(cwd, { input, decide: () => "allow" });
    if (!(await started(second, seen))) return false;
    await second.prompt(PROMPT);
    const result = await second.next("result", undefined, TURN_MS);
    const init = await second.next("init");
    const outcome = await second.worker.pause(EXIT_MS);
    seen.exit(await second.next("exited"));
    seen.put({
      sameSession: init.sessionId === first.input.sessionId,
      isError: result.isError,
      proven: outcome.proven,
    });
    return init.sessionId === first.input.sessionId && !result.isError && outcome.proven;
  });
}

async function takeover(spike: Spike): Promise<void> {
  await spike.check(
    "takeover-and-resume",
    "in mid-turn it is ended, and its session can be driven again",
    async (seen) => {
      const { worker, cwd } = await toolRuns(spike, seen);
      const taken = await worker.worker.takeover(EXIT_MS);
      if (!taken.ok) {
        seen.put({ reason: taken.reason });
        return false;
      }
      seen.exit(await worker.next("exited"));
      const clean = await noneLeft(spike, seen);
      seen.put({
        proven: taken.outcome.proven,
        ms: taken.outcome.durationMs,
        namesSession: taken.resumeArgs.some((word) => word === `--resume=${worker.input.sessionId}`),
      });
      const second = await spike.worker(cwd, { input: { sessionId: worker.input.sessionId, resume: true } });
      const resumed = await started(second, seen);
      const outcome = await second.worker.stop({ kind: "graceful", graceMs: 5_000 });
      seen.put({ resumed });
      return taken.outcome.proven && clean && resumed && outcome.proven;
    },
  );
}

async function refusedStarts(spike: Spike, cwd: string): Promise<void> {
  await spike.check("timeout", "a start without a timely answer is ended whole", async (seen) => {
    const worker = await spike.worker(cwd, { input: { startupTimeoutMs: 1 } });
    const result = await worker.worker.start();
    seen.put({ reason: result.ok ? null : result.reason });
    return !result.ok && result.reason === "startup-timeout" && (await noneLeft(spike, seen));
  });
  await spike.check("recovery", "a session that Claude does not have is refused and nothing runs", async (seen) => {
    const worker = await spike.worker(cwd, { input: { resume: true } });
    const result = await worker.worker.start();
    seen.exit(await worker.next("exited"));
    seen.put({ reason: result.ok ? null : result.reason });
    return !result.ok && result.reason === "no-session" && (await noneLeft(spike, seen));
  });
}
