/**
 * `npm run spike:permissions [-- --scripted] [-- --out FILE]`, with `SPIKE_PERMISSION_DECISION=allow|deny`: one tool call of
 * a real Claude Code is held at our gate, decided, and seen to run or not; then another one is taken back.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { until } from "../test/support/until.ts";
import type { Driven } from "../test/worker/driver.ts";
import type { PermissionDecision } from "./spike/options.ts";
import { isOurs, PROMPT } from "./spike/room.ts";
import { runSpike, type Spike } from "./spike/run.ts";
import { noneLeft, started, TURN_MS } from "./spike/steps.ts";

/** Milliseconds without a word of Claude's after which a held call is taken to be really held. */
const SILENCE_MS = 500;

await runSpike("permissions", async (spike) => {
  const { decision } = spike.options;
  const cwd = await spike.room.workspace("touch ran.txt; cat planted.txt\n");
  const worker = await spike.worker(cwd);
  const ready = await spike.check("start-up", "the handshake confirms the gate", (seen) => started(worker, seen));
  if (!ready) return;
  await decided(spike, worker, join(cwd, "ran.txt"), decision);
  await spike.check("permissions", "nothing but the one command was let through", async (seen) => {
    const others = worker.of("hook").filter((hook) => !isOurs(hook));
    seen.put({ calls: worker.of("hook").length, denied: others.length, asks: worker.of("ask").length });
    return worker.of("ask").length === 0;
  });
  await takenBack(spike, worker);
  if (decision === "deny") await outputOnce(spike);
  await spike.check("stop", "at rest it is ended with proof", async (seen) => {
    const outcome = await worker.worker.stop({ kind: "graceful", graceMs: 5_000 });
    const exited = await worker.next("exited");
    seen.exit(exited);
    seen.put({ proven: outcome.proven, ms: outcome.durationMs, code: exited.code, signal: exited.signal });
    return outcome.proven && (await noneLeft(spike, seen));
  });
});

async function decided(spike: Spike, worker: Driven, file: string, decision: PermissionDecision): Promise<void> {
  await spike.check("permissions", "a held call does not run", async (seen) => {
    await worker.prompt(PROMPT);
    const hook = await worker.next("hook", isOurs, TURN_MS);
    await until(
      () => (worker.worker.getStatus().lastLineAgeMs ?? 0) >= SILENCE_MS,
      10_000,
      "silence while the call is held",
    );
    seen.put({ tool: hook.toolName, ran: existsSync(file), permissionMode: hook.permissionMode ?? null });
    return !existsSync(file);
  });
  await spike.check("permissions", `the decision holds: ${decision}`, async (seen) => {
    const hook = await worker.next("hook", isOurs);
    const began = performance.now();
    const answered = await worker.worker.reply(hook.callId, { decision, reason: "The spike decided so." });
    const result = await worker.next("tool-result", (event) => event.toolUseId === hook.toolUseId, TURN_MS);
    const again = await worker.worker.reply(hook.callId, { decision: "allow", reason: "Too late." });
    seen.put({
      ran: existsSync(file),
      toolError: result.isError,
      resultMs: Math.round(performance.now() - began),
      secondAnswer: again.ok ? "accepted" : again.reason,
    });
    await worker.next("result", undefined, TURN_MS);
    const asDecided = existsSync(file) === (decision === "allow") && result.isError === (decision === "deny");
    return answered.ok && asDecided && !again.ok && again.reason === "request-answered";
  });
}

async function takenBack(spike: Spike, worker: Driven): Promise<void> {
  await spike.check(
    "permissions",
    "an interrupt takes a held call back, and a late answer is refused",
    async (seen) => {
      const before = worker.of("hook").length;
      const results = worker.of("result").length;
      await worker.prompt(PROMPT);
      const hook = await worker.next(
        "hook",
        (each) => isOurs(each) && worker.of("hook").indexOf(each) >= before,
        TURN_MS,
      );
      const interrupted = await worker.worker.interrupt();
      await worker.next("cancelled", (event) => event.callId === hook.callId);
      const late = await worker.worker.reply(hook.callId, { decision: "allow", reason: "Too late." });
      const result = await worker.next("result", (each) => worker.of("result").indexOf(each) >= results, TURN_MS);
      seen.put({
        interrupted: interrupted.ok,
        lateAnswer: late.ok ? "accepted" : late.reason,
        isError: result.isError,
        terminalReason: result.terminalReason ?? null,
      });
      return interrupted.ok && !late.ok;
    },
  );
}

/** With `deny` the command never ran, so that nothing planted came by: one allowed run makes the search mean something. */
async function outputOnce(spike: Spike): Promise<void> {
  await spike.check("permissions", "the same command runs for another worker that may", async (seen) => {
    const cwd = await spike.room.workspace("cat planted.txt\n");
    const worker = await spike.worker(cwd, { decide: () => "allow" });
    if (!(await started(worker, seen))) return false;
    await worker.prompt(PROMPT);
    const hook = await worker.next("hook", isOurs, TURN_MS);
    const result = await worker.next("tool-result", (event) => event.toolUseId === hook.toolUseId, TURN_MS);
    const outcome = await worker.worker.stop({ kind: "graceful", graceMs: 5_000 });
    seen.put({ toolError: result.isError, proven: outcome.proven });
    return !result.isError && outcome.proven;
  });
}
