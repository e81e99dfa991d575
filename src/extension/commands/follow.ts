/**
 * `log --follow`: in a UI the newest records stand in a widget until the same command ends it or the task ends; in print
 * mode they go to standard error until the task ends.
 */
import type { StoredEvent } from "../../core/events.ts";
import { isTerminal } from "../../core/machine/project.ts";
import { eventLine } from "../../report/event-line.ts";
import type { Supervisor } from "../../supervisor/api.ts";
import type { Answer, BadAnswer, Scene } from "../answer.ts";
import { throttle } from "../ui/throttle.ts";
import { safe, stateWords } from "../words-for-people.ts";

const WIDGET_KEY = "supervise-log";
const WIDGET_LINES = 10;
const REFRESH_MS = 250;

export async function followLog(
  scene: Scene<"log">,
  supervisor: Supervisor,
  taskId: string,
): Promise<Answer | BadAnswer> {
  const { hub } = scene;
  const same = hub.follower?.taskId === taskId;
  hub.follower?.stop();
  if (same) return { ok: true, fields: {}, text: `No longer following ${taskId}.` };
  const found = await supervisor.status(taskId);
  if (!found.ok) return found;
  const newest = await supervisor.log(taskId, { limit: 1 });
  if (!newest.ok) return newest;
  const since = scene.call.flags.since ?? Math.max(1, newest.lastSeq - WIDGET_LINES + 1);
  if (isTerminal(found.task.state))
    return {
      ok: false,
      reason: "ended",
      message: `Task ${taskId} has ended (${stateWords(found.task.state)}); nothing new comes. Read it: /supervise log ${taskId}`,
    };
  return scene.port.interactive
    ? inWidget(scene, supervisor, taskId, since)
    : onStandardError(scene, supervisor, taskId, since);
}

function inWidget(scene: Scene<"log">, supervisor: Supervisor, taskId: string, since: number): Answer {
  const { port, hub } = scene;
  const ended = new AbortController();
  const lines: string[] = [];
  const paint = throttle(REFRESH_MS, () => port.setWidget(WIDGET_KEY, lines.slice(-WIDGET_LINES)));
  const stop = () => {
    if (ended.signal.aborted) return;
    ended.abort();
    paint.cancel();
    port.setWidget(WIDGET_KEY, undefined);
    if (hub.follower === follower) hub.follower = undefined;
  };
  const follower = { taskId, stop };
  hub.follower = follower;
  const onEvent = (event: StoredEvent) => {
    if (port.closed) {
      stop();
      return;
    }
    lines.push(eventLine(event, 110));
    if (lines.length > WIDGET_LINES) lines.shift();
    paint.soon();
    if (ENDS.has(event.type)) stop();
  };
  void supervisor.follow(taskId, since, onEvent, ended.signal).then((done) => {
    stop();
    if (!done.ok) port.show(safe(done.message), "error");
  });
  return { ok: true, fields: {}, text: `Following ${taskId}. The same command ends it.` };
}

async function onStandardError(
  { port }: Scene<"log">,
  supervisor: Supervisor,
  taskId: string,
  since: number,
): Promise<Answer | BadAnswer> {
  const ended = new AbortController();
  const onEvent = (event: StoredEvent) => {
    port.show(eventLine(event), "info");
    if (ENDS.has(event.type)) ended.abort();
  };
  const done = await supervisor.follow(taskId, since, onEvent, ended.signal);
  return done.ok ? { ok: true, fields: {}, text: `Task ${taskId} has ended.` } : done;
}

/** What a log ends with, as far as a follower is concerned. */
const ENDS: ReadonlySet<string> = new Set(["task.completed", "task.failed", "stop.proven", "stop.failed"]);
