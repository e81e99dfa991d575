/** Which events a person is told of, and in which words. Pure. */
import type { EventMap, TaskEvent } from "../../core/events.ts";
import { isKnown } from "../../core/fold.ts";
import { waitsForPerson } from "../../core/machine/decider.ts";
import { stateName, waitsFor } from "../../core/machine/project.ts";
import { standing } from "../../core/machine/standing.ts";
import type { RequestState, TaskState } from "../../core/machine/state.ts";
import { reviewSummary } from "../../core/prompts.ts";
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
  const own = ofEvent(taskId, event, after);
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

function ofEvent(taskId: string, event: TaskEvent, after: TaskState): Milestone | null {
  switch (event.type) {
    case "worker.started": {
      const { executable, resume } = event.data;
      return info(`${taskId}: Claude Code ${oneLine(executable.version, 40)} ${resume ? "goes on" : "has started"}.`);
    }
    case "gate.verdict":
      return gated(taskId, event.data, after);
    case "budget.warning":
      return warning(`${taskId}: ${oneLine(event.data.text, 300)}`);
    case "budget.renewed":
      return info(`${taskId}: ${oneLine(event.data.text, 300)}`);
    case "automation.changed":
      return warning(`${taskId}: ${oneLine(event.data.why, 300)}`);
    case "decision.made":
      return decided(taskId, event.data, after);
    case "gate.incident":
      return {
        text: `${taskId}: automation is off, ${oneLine(event.data.fault, 60)}. ${oneLine(event.data.detail, 300)} Look: /supervise report ${taskId}`,
        level: "error",
      };
    case "verify.finished":
      return verified(taskId, event.data);
    case "review.finished":
      return event.data.verdict === "revise"
        ? warning(`${taskId}: the reviewer wants something changed. ${oneLine(reviewSummary(event.data), 300)}`)
        : null;
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

/** A call that waits for a person; what the decider is asked about is told when it has answered. */
function gated(taskId: string, data: EventMap["gate.verdict"], after: TaskState): Milestone | null {
  const { requestId, kind = "tool" } = data;
  if (requestId === undefined || after.requests[requestId]?.askedOf === "decider") return null;
  return asks(taskId, { ...data, requestId, kind, passedOn: null });
}

type Asked = Pick<RequestState, "requestId" | "kind" | "toolName" | "input" | "rule" | "passedOn">;

function asks(taskId: string, request: Asked): Milestone {
  const { toolName, input, rule, passedOn } = request;
  const [first = "", second = ""] = answerCommands(request);
  const why = passedOn === null ? "" : `\nThe decider passed it on: ${oneLine(passedOn.reason, 300)}`;
  return warning(`${taskId} asks (${rule}): ${callLine(toolName, input, 200)}${why}\n${first}  or  ${second}`);
}

const DONE = { approve: "approved", deny: "denied", answer: "answered" } as const;

function decided(taskId: string, data: EventMap["decision.made"], after: TaskState): Milestone | null {
  const { decision, requestId, reason = "" } = data;
  const request = requestId === undefined ? undefined : after.requests[requestId];
  const said = oneLine(reason, 300);
  if (request !== undefined && (decision === "approve" || decision === "deny" || decision === "answer"))
    return info(`${taskId}: the decider ${DONE[decision]} ${callLine(request.toolName, request.input, 120)}: ${said}`);
  if (request !== undefined) return waitsForPerson(request) ? asks(taskId, request) : null;
  return decision === "continue" ? info(`${taskId}: the decider has Claude go on: ${said}`) : null;
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
