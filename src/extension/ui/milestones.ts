/** Which events a person is told of, and in which words. Pure. */
import type { EventMap, TaskEvent } from "../../core/events.ts";
import { isKnown } from "../../core/fold.ts";
import { stateName, waitsFor } from "../../core/machine/project.ts";
import { standing } from "../../core/machine/standing.ts";
import type { TaskState } from "../../core/machine/state.ts";
import { oneLine } from "../../report/inert.ts";
import type { TaskUpdate } from "../../supervisor/api.ts";
import type { Level } from "../pi-port.ts";
import { answerCommands, callLine } from "../words-for-people.ts";

export interface Milestone {
  text: string;
  level: Level;
}

export function milestone(update: TaskUpdate): Milestone | null {
  const { taskId, after } = update;
  if (!isKnown(update.event.type)) return null;
  const event = update.event as unknown as TaskEvent;
  if ("late" in event.data && event.data.late === true) return null;
  if (answersACommand(event, after)) return null;
  const own = ofEvent(taskId, event);
  const wait = begunWait(update);
  if (own === null || wait === null) return own ?? wait;
  /* The one notice of an event says both: what happened, and that nothing goes on before somebody acts. */
  const told = own.text.includes("Look: ")
    ? own.text
    : `${own.text}\n${taskId} waits for you. Look: /supervise status ${taskId}`;
  return { text: told, level: own.level === "info" ? wait.level : own.level };
}

/** With this event the task began to wait for a person, other than for an approval. */
function begunWait({ taskId, before, after }: TaskUpdate): Milestone | null {
  if (stateName(after) !== "human_required" || stateName(before) === "human_required") return null;
  switch (waitsFor(after)) {
    case "result":
      return info(
        `${taskId}: the turn is over. Your turn: /supervise verify ${taskId}  or  /supervise send ${taskId} <text>`,
      );
    case "person":
      return warning(
        `${taskId} waits for you. ${oneLine(standing(after).why ?? "", 300)} Look: /supervise status ${taskId}`,
      );
    default:
      return null;
  }
}

/** The person who asked for it gets it as the answer of the command. */
function answersACommand(event: TaskEvent, after: TaskState): boolean {
  switch (event.type) {
    case "verify.finished":
      return event.data.by === "person";
    case "stop.proven":
      return (after.stop.kind === "proven" || after.stop.kind === "unproven") && after.stop.by === "person";
    default:
      return false;
  }
}

function ofEvent(taskId: string, event: TaskEvent): Milestone | null {
  switch (event.type) {
    case "worker.started": {
      const { executable, resume } = event.data;
      return info(`${taskId}: Claude Code ${oneLine(executable.version, 40)} ${resume ? "goes on" : "has started"}.`);
    }
    case "gate.verdict":
      return event.data.requestId === undefined ? null : asks(taskId, event.data, event.data.requestId);
    case "automation.changed":
      return warning(`${taskId}: ${oneLine(event.data.why, 300)}`);
    case "gate.incident":
      return {
        text: `${taskId}: automation is off, ${oneLine(event.data.fault, 60)}. ${oneLine(event.data.detail, 300)} Look: /supervise report ${taskId}`,
        level: "error",
      };
    case "verify.finished":
      return verified(taskId, event.data);
    case "signoff.requested": {
      const [first = "", second = ""] = answerCommands({ requestId: event.data.requestId, kind: "sign-off" });
      return warning(`${taskId}: ${oneLine(event.data.message, 400)}\n${first}  or  ${second}`);
    }
    case "verify.stale":
      return warning(`${taskId}: the verification passed, but the workspace has changed since; it is not completed.`);
    case "task.completed":
      return info(`${taskId} is completed: the verification passed. What was done: /supervise report ${taskId}`);
    case "task.failed":
      return {
        text: `${taskId} has failed: ${oneLine(event.data.message, 300)} What was done: /supervise report ${taskId}`,
        level: "error",
      };
    case "stop.proven":
      return info(`${taskId} is stopped: nothing of it runs any more.`);
    case "stop.failed":
      return {
        text: `${taskId} could not be stopped wholly; ${event.data.remaining.length} of it may still run. Look: /supervise status ${taskId}`,
        level: "error",
      };
    case "worker.rate-limit":
      return event.data.status === "rejected"
        ? warning(
            `${taskId}: the usage limit is reached${event.data.resetsAt === undefined ? "" : ` until ${oneLine(event.data.resetsAt, 40)}`}.`,
          )
        : null;
    case "notice":
      return { text: `${taskId}: ${oneLine(event.data.text, 500)}`, level: event.data.level };
    default:
      return null;
  }
}

function asks(taskId: string, data: EventMap["gate.verdict"], requestId: string): Milestone {
  const [first = "", second = ""] = answerCommands({ requestId, kind: data.kind ?? "tool" });
  return warning(`${taskId} asks (${data.rule}): ${callLine(data.toolName, data.input, 200)}\n${first}  or  ${second}`);
}

/** A pass is told by what follows it at once: completed, or the tree that is another one by now. */
function verified(taskId: string, data: EventMap["verify.finished"]): Milestone | null {
  const said = oneLine(data.message, 300);
  if (data.outcome === "pass") return null;
  if (data.outcome === "fail")
    return warning(`${taskId}: the verification did not pass (round ${data.round}). ${said}`);
  return warning(`${taskId}: the verification could not say anything. ${said}`);
}

function info(text: string): Milestone {
  return { text, level: "info" };
}

function warning(text: string): Milestone {
  return { text, level: "warning" };
}
