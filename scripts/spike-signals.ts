/**
 * `npm run spike:signals [-- --scripted] [-- --out FILE]`: a real Claude Code is stopped, killed and signalled while its
 * Bash tool runs a tree of processes, with a cgroup (where one can be made) and without. Nothing may be left.
 */
import { describeContainment } from "../src/platform/containment/index.ts";
import { PROMPT } from "./spike/room.ts";
import { runSpike, type Seen, type Spike } from "./spike/run.ts";
import { noneLeft, type RunningTool, started, TURN_MS, toolRuns } from "./spike/steps.ts";

type Cgroup = "auto" | "off";
type Signal = "SIGTERM" | "SIGINT" | "SIGKILL";

await runSpike("signals", async (spike) => {
  await plant(spike);
  const kinds: Cgroup[] = describeContainment("auto").kind === "cgroup" ? ["auto", "off"] : ["off"];
  for (const cgroup of kinds) {
    await stopped(spike, cgroup, "graceful");
    await stopped(spike, cgroup, "now");
    for (const signal of ["SIGTERM", "SIGINT", "SIGKILL"] as const) await signalled(spike, cgroup, signal);
  }
});

async function plant(spike: Spike): Promise<void> {
  await spike.check("start-up", "a turn without any signal ends well", async (seen) => {
    const worker = await spike.worker(await spike.room.workspace("cat planted.txt\n"), { decide: () => "allow" });
    if (!(await started(worker, seen))) return false;
    await worker.prompt(PROMPT);
    const result = await worker.next("result", undefined, TURN_MS);
    const outcome = await worker.worker.pause(10_000);
    seen.exit(await worker.next("exited"));
    seen.put({ isError: result.isError, proven: outcome.proven });
    return !result.isError && outcome.proven;
  });
}

async function stopped(spike: Spike, cgroup: Cgroup, kind: "graceful" | "now"): Promise<void> {
  const name = kind === "graceful" ? "a graceful stop" : "a kill";
  await spike.check("stop", `${name} in mid-tool is proven (cgroup ${cgroup})`, async (seen) => {
    const { worker } = await toolRuns(spike, seen, { cgroup });
    const outcome = await worker.worker.stop({ kind, graceMs: 5_000 });
    const exited = await worker.next("exited");
    seen.exit(exited);
    seen.put({ proven: outcome.proven, ms: outcome.durationMs, code: exited.code, signal: exited.signal });
    if (!outcome.proven) return false;
    seen.put({ method: outcome.method, killed: outcome.killed });
    return noneLeft(spike, seen);
  });
}

/** Recorded on 2.1.268: 143 after SIGTERM, 0 after SIGINT; SIGKILL leaves the tool's tree to the containment. */
async function signalled(spike: Spike, cgroup: Cgroup, signal: Signal): Promise<void> {
  let running: RunningTool | undefined;
  await spike.check("crash", `${signal} of Claude in mid-tool is reported (cgroup ${cgroup})`, async (seen) => {
    running = await toolRuns(spike, seen, { cgroup });
    const { worker } = running;
    const { leader } = worker.worker.getStatus();
    if (!leader) return false;
    const began = performance.now();
    process.kill(leader.pid, signal);
    const exited = await worker.next("exited", undefined, 15_000);
    seen.exit(exited);
    seen.put({ code: exited.code, signal: exited.signal, exitMs: Math.round(performance.now() - began) });
    return worker.worker.getStatus().phase === "gone" && (signal !== "SIGKILL" || exited.signal === "SIGKILL");
  });
  const ran = running;
  if (!ran) return;
  await spike.check("group-cleanup", `what ${signal} left of the tree is ended (cgroup ${cgroup})`, async (seen) => {
    const outcome = await ran.worker.worker.stop({ kind: "now", graceMs: 0 });
    seen.put({ proven: outcome.proven, ms: outcome.durationMs });
    if (outcome.proven) seen.put({ method: outcome.method, killed: outcome.killed });
    return outcome.proven && (await noneLeft(spike, seen));
  });
  if (signal === "SIGKILL") await afterCrash(spike, cgroup, ran);
}

async function afterCrash(spike: Spike, cgroup: Cgroup, { worker, cwd }: RunningTool): Promise<void> {
  await spike.check("recovery", `its session goes on after SIGKILL (cgroup ${cgroup})`, async (seen: Seen) => {
    const input = { cgroup, sessionId: worker.input.sessionId, resume: true };
    const second = await spike.worker(cwd, { input });
    const resumed = await started(second, seen);
    const outcome = await second.worker.stop({ kind: "graceful", graceMs: 5_000 });
    seen.put({ resumed, proven: outcome.proven });
    return resumed && outcome.proven && (await noneLeft(spike, seen));
  });
}
