/** `/supervise log <ID> [--follow] [--since SEQ] [--verify]`: the events of a task. */
import type { StoredEvent } from "../../core/events.ts";
import { eventLine } from "../../report/event-line.ts";
import type { Supervisor } from "../../supervisor/api.ts";
import { type Answer, type BadAnswer, type Command, type Scene, usageError } from "../answer.ts";
import { usageOf } from "../parse/spec.ts";
import { count, safe, size } from "../words-for-people.ts";
import { followLog } from "./follow.ts";

/** Newest records that are shown when no `--since` was given, and most that are shown at all. */
const TAIL_FOR_PEOPLE = 40;
const TAIL_FOR_PROGRAMS = 500;

/** Characters of records in one JSON answer. */
const MAX_JSON_CHARS = 400_000;

export const log: Command<"log"> = async (scene, supervisor) => {
  const { call } = scene;
  const [taskId = ""] = call.args;
  if (call.flags.follow === true) {
    if (call.json)
      return usageError("usage", `--follow has no end and --json has one answer: use one of them. ${usageOf("log")}`);
    return followLog(scene, supervisor, taskId);
  }
  if (call.flags.verify === true) return verifyChain(supervisor, taskId);
  return show(scene, supervisor, taskId);
};

async function verifyChain(supervisor: Supervisor, taskId: string): Promise<Answer | BadAnswer> {
  const done = await supervisor.verifyLog(taskId);
  if (!done.ok) return done;
  const { records, bytes } = done;
  return {
    ok: true,
    fields: { taskId, records, bytes },
    text: `The log of ${taskId} is whole: ${count(records, "record")}, ${size(bytes)}, every link of its hash chain holds.`,
  };
}

async function show({ call }: Scene<"log">, supervisor: Supervisor, taskId: string): Promise<Answer | BadAnswer> {
  const limit = call.json ? TAIL_FOR_PROGRAMS : TAIL_FOR_PEOPLE;
  const since = call.flags.since ?? (await tailStart(supervisor, taskId, limit));
  if (typeof since !== "number") return since;
  const found = await supervisor.log(taskId, { since, limit });
  if (!found.ok) return found;
  const { path, lastSeq } = found;
  const events = call.json ? bounded(found.events, call.flags.since === undefined) : found.events;
  const last = events.at(-1)?.seq ?? since - 1;
  const rest = lastSeq > last ? [`… up to ${lastSeq}: /supervise log ${taskId} --since ${last + 1}`] : [];
  const lines = events.map((event) => eventLine(event));
  return {
    ok: true,
    fields: { taskId, path, lastSeq, events },
    text: [...(lines.length > 0 ? lines : ["No record from there on."]), ...rest, `File: ${safe(path)}`].join("\n"),
  };
}

async function tailStart(supervisor: Supervisor, taskId: string, limit: number): Promise<number | BadAnswer> {
  const found = await supervisor.log(taskId, { limit: 1 });
  return found.ok ? Math.max(1, found.lastSeq - limit + 1) : found;
}

/** As many records as fit into one answer: the newest ones, or from the asked one on. */
function bounded(events: readonly StoredEvent[], fromEnd: boolean): StoredEvent[] {
  const kept: StoredEvent[] = [];
  let chars = 0;
  for (const event of fromEnd ? [...events].reverse() : events) {
    chars += JSON.stringify(event).length;
    if (chars > MAX_JSON_CHARS) break;
    kept.push(event);
  }
  return fromEnd ? kept.reverse() : kept;
}
