/**
 * `npm run spike:automation [-- --scripted] [-- --out FILE]`, with `SPIKE_AUTOMATION_PERMISSION=1` and
 * `SPIKE_AUTOMATION_QUESTION=1`: a whole automatic task with a real Claude Code and a decider on Pi's own model. Plain, it
 * shows that a turn's end is judged and the verification completes the task; with the two, that a call and a question are
 * decided too. `SPIKE_DECISION_MODEL=provider/id` names the decider's model; default: the one that Pi has chosen.
 */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import * as host from "@mariozechner/pi-coding-agent";
import type { StoredEvent } from "../src/core/events.ts";
import { decisionFactory } from "../src/extension/decision-factory.ts";
import { supervisorDeps } from "../src/supervisor/index.ts";
import { LocalSupervisor } from "../src/supervisor/local-supervisor.ts";
import { createWorker } from "../src/worker/index.ts";
import { until } from "../test/support/until.ts";
import { Refusal } from "./spike/options.ts";
import { COMMAND, PROMPT, QUESTION_GOAL } from "./spike/room.ts";
import { runSpike, type Seen, type Spike } from "./spike/run.ts";
import { noneLeft, TURN_MS } from "./spike/steps.ts";

/** Nothing but the one command is let through; everything that writes or reaches out is denied. */
const DENIED = ["Write", "Edit", "MultiEdit", "NotebookEdit", "WebFetch", "WebSearch", "Agent", "Task"];

await runSpike("automation", async (spike) => {
  const { permission, question } = spike.options.automation;
  const supervisor = await openSupervisor(spike, permission);
  try {
    await spike.check(
      "automation",
      permission
        ? "a call is decided, runs, and the verification completes the task"
        : "the verification completes the task",
      async (seen) => {
        const done = await task(spike, supervisor, PROMPT, seen);
        const calls = done.filter((event) => event.type === "decision.made" && kindOf(event) === "tool").length;
        return isCompleted(done) && isInOrder(done) && calls === (permission ? 1 : 0);
      },
    );
    if (question) {
      await spike.check("automation", "a question is answered by a label, and nobody else was asked", async (seen) => {
        const done = await task(spike, supervisor, QUESTION_GOAL, seen);
        const answered = done.filter((event) => event.type === "request.answered");
        const byDecider = answered.every((event) => (event.data as { by: string }).by === "decider");
        return isCompleted(done) && isInOrder(done) && answered.length === 1 && byDecider;
      });
    }
    await spike.check("automation", "the logs replay to what they say", async (seen) => {
      const listed = await supervisor.sessions(true);
      if (!listed.ok) return false;
      const replays = await Promise.all(listed.tasks.map(({ taskId }) => supervisor.replay(taskId)));
      seen.put({ logs: replays.length, matching: replays.filter((one) => one.ok && one.matches).length });
      return replays.length > 0 && replays.every((one) => one.ok && one.matches);
    });
  } finally {
    await supervisor.shutdown(4_000);
  }
  await spike.check("automation", "nothing of it is left", (seen) => noneLeft(spike, seen));
});

/** A supervisor as the extension opens it, over the spike's Claude and Pi's own models. */
async function openSupervisor(spike: Spike, permission: boolean): Promise<LocalSupervisor> {
  const { room } = spike;
  if (room.piAgentDir !== undefined) process.env["PI_CODING_AGENT_DIR"] = room.piAgentDir;
  const agentDir = join(room.lab.root, "supervisor-config");
  await mkdir(agentDir, { recursive: true });
  const rules = [
    { verdict: permission ? "review" : "allow", tool: "Bash", argv: COMMAND.split(" ") },
    ...DENIED.map((tool) => ({ verdict: "deny", tool })),
  ];
  await writeFile(join(agentDir, "supervisor.json"), JSON.stringify({ policy: { rules } }));
  const made = supervisorDeps(room.supervisorEnv(), {
    agentDir,
    decisions: decisionFactory(piModels(room.mode === "scripted")),
    createWorker: (transport, input, deps) => {
      const worker = createWorker(transport, input, deps);
      spike.watch(worker);
      return worker;
    },
  });
  if (!made.ok) throw new Refusal(made.message);
  return new LocalSupervisor(made.deps);
}

type Ctx = Parameters<typeof decisionFactory>[0];

/** Of the Pi that this package is developed with (0.73.1); later ones make their registries in another way. */
interface PiOfThisPackage {
  AuthStorage: { create(path: string): unknown };
  ModelRegistry: { create(logins: unknown, modelsPath: string): Ctx["modelRegistry"] };
}

/** What an extension finds in its `ctx`: Pi's models with their logins, and the one that is chosen. */
function piModels(scripted: boolean): Ctx {
  const { AuthStorage, ModelRegistry } = host as unknown as PiOfThisPackage;
  const dir = host.getAgentDir();
  const registry = ModelRegistry.create(AuthStorage.create(join(dir, "auth.json")), join(dir, "models.json"));
  const settings = host.SettingsManager.create(dir, dir);
  const named = process.env["SPIKE_DECISION_MODEL"] ?? (scripted ? "lab/scripted" : undefined);
  const slash = named?.indexOf("/") ?? -1;
  const [provider, id] =
    named === undefined
      ? [settings.getDefaultProvider(), settings.getDefaultModel()]
      : [named.slice(0, slash), named.slice(slash + 1)];
  const model = registry.find(provider ?? "", id ?? "") ?? registry.getAvailable()[0];
  if (model === undefined) {
    throw new Refusal(
      "Pi has no model with a login here. Log in with `pi`, or name one: SPIKE_DECISION_MODEL=provider/id.",
    );
  }
  return { model, modelRegistry: registry };
}

/** Runs one automatic task to its end; the events of its log. */
async function task(spike: Spike, supervisor: LocalSupervisor, goal: string, seen: Seen): Promise<StoredEvent[]> {
  const cwd = await spike.room.workspace("touch ran.txt; cat planted.txt\n");
  const verify = goal === PROMPT ? ["test -f ran.txt"] : ["true"];
  const started = await supervisor.start({ goal, from: cwd, mode: "auto", verify, maxRounds: 1, patienceMs: 5_000 });
  if (!started.ok) {
    seen.put({ startReason: started.reason });
    return [];
  }
  const { taskId } = started;
  const over = new Set(["completed", "failed", "human_required", "stopped", "failed_to_stop"]);
  const state = await until(
    async () => {
      const view = await supervisor.status(taskId);
      return view.ok && over.has(view.task.state) ? view.task : undefined;
    },
    3 * TURN_MS,
    "the task's end",
    200,
  );
  if (state.state !== "completed") await supervisor.kill(taskId);
  await until(() => !supervisor.live().some((view) => view.taskId === taskId), 10_000, "the task to be let go of");
  const log = await supervisor.log(taskId, { since: 1, limit: 1_000 });
  const events = log.ok ? log.events : [];
  const decisions = events.flatMap((event) =>
    event.type === "decision.made" ? [`${kindOf(event)}:${(event.data as { decision: string }).decision}`] : [],
  );
  seen.put({ state: state.state, reason: state.reason, decisions, rounds: state.rounds.used, costUsd: state.costUsd });
  const exited = events.find((event) => event.type === "worker.exited")?.data;
  if (exited !== undefined) seen.exit(exited as { code: number | null; signal: string | null });
  return events;
}

function kindOf(event: StoredEvent): string {
  return (event.data as { kind?: string }).kind ?? "none";
}

function isCompleted(events: readonly StoredEvent[]): boolean {
  const passed = events.some(
    (event) => event.type === "verify.finished" && (event.data as { outcome: string }).outcome === "pass",
  );
  return passed && events.some((event) => event.type === "task.completed");
}

/** Each decision has its question before it in the log. */
function isInOrder(events: readonly StoredEvent[]): boolean {
  const asked = new Set<string>();
  for (const { type, data } of events) {
    const { decisionId = "" } = data as { decisionId?: string };
    if (type === "decision.asked") asked.add(decisionId);
    if (type === "decision.made" && !asked.has(decisionId)) return false;
  }
  return asked.size > 0;
}
