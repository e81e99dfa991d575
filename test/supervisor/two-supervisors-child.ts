/**
 * Fixture: `two-supervisors-child <scene file> <name> <seed> <rounds>` is one of several Pi on one store and one folder.
 * It starts, stops, recovers, tells and quits at random, and prints each act with its answer as a JSON line.
 */
import { readFileSync } from "node:fs";
import type { LocalSupervisor } from "../../src/supervisor/local-supervisor.ts";
import { openSupervisor, type Scene } from "./crash/scene.ts";

const [sceneFile = "", name = "", seed = "1", rounds = "1"] = process.argv.slice(2);
const scene = JSON.parse(readFileSync(sceneFile, "utf8")) as Scene;

export type Act = "start" | "stop" | "recover" | "send" | "quit";

export interface Done {
  act: Act;
  pid: number;
  taskId: string | null;
  /** What was said to a worker: unique over all processes and acts. */
  text: string | null;
  /** Milliseconds since the epoch. */
  from: number;
  to: number;
  ok: boolean;
  reason: string | null;
  message: string | null;
  state: string | null;
}

const WEIGHTS: readonly Act[] = ["start", "start", "stop", "recover", "recover", "send", "send", "quit"];

/** mulberry32: the same seed, the same acts. */
function randoms(start: number): () => number {
  let state = start >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

async function main(): Promise<void> {
  const random = randoms(Number(seed));
  const pick = <T>(from: readonly T[]): T | undefined => from[Math.floor(random() * from.length)];
  let supervisor = openSupervisor(scene, () => ({}));
  for (let round = 0; round < Number(rounds); round += 1) {
    const picked = pick(WEIGHTS) ?? "start";
    const text = `${name} says ${round}`;
    /* The newest few, where the others are at work, too. */
    const known = (await supervisor.sessions(true)).tasks.slice(0, 4);
    const taskId = pick(known)?.taskId ?? null;
    const act = taskId === null && picked !== "quit" ? "start" : picked;
    const from = Date.now();
    const answer = await perform(supervisor, act, taskId, text);
    const done: Done = {
      act,
      pid: process.pid,
      taskId: answer.taskId ?? taskId,
      text: act === "start" || act === "send" ? text : null,
      from,
      to: Date.now(),
      ok: answer.ok,
      reason: answer.reason ?? null,
      message: answer.message ?? null,
      state: answer.state ?? null,
    };
    console.log(JSON.stringify(done));
    if (act === "quit") supervisor = openSupervisor(scene, () => ({}));
  }
  await supervisor.shutdown(2_000);
}

interface Answer {
  ok: boolean;
  taskId?: string;
  reason?: string;
  message?: string;
  state?: string;
}

async function perform(supervisor: LocalSupervisor, act: Act, taskId: string | null, text: string): Promise<Answer> {
  if (act === "quit") {
    await supervisor.shutdown(2_000);
    return { ok: true };
  }
  if (act === "start" || taskId === null)
    return supervisor.start({ goal: text, from: scene.cwd, mode: "manual", verify: ["true"] });
  if (act === "stop") return supervisor.stop(taskId, text);
  if (act === "recover") return supervisor.recover(taskId, { fresh: false });
  return supervisor.send(taskId, text);
}

main().catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});
