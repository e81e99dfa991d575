/** Which of a person's commands a state takes. A refusal names why, and the command that is right instead. */
import { type Failure, failure } from "../result.ts";
import { hasProcess, isTakenOver } from "./control.ts";
import { hasLostItsPipe } from "./hold.ts";
import { isIdle } from "./next.ts";
import { stateName } from "./project.ts";
import { MAX_QUEUED_PROMPTS } from "./prompts.ts";
import type { RequestState, TaskState } from "./state.ts";
import { isActive } from "./verification.ts";

export type PersonCommand =
  | "send"
  | "verify"
  | "approve"
  | "deny"
  | "answer"
  | "stop"
  | "pause"
  | "recover"
  | "takeover"
  | "handback";

/** Null when the command may be recorded. */
export function refusal(state: TaskState, command: PersonCommand): Failure | null {
  const id = state.taskId;
  const name = stateName(state);
  if (command === "stop") return null;
  if (name === "completed") return endedRefusal(state);
  if (command === "takeover") return takeoverRefusal(state);
  if (command === "handback") return handbackRefusal(state);
  if (name === "taken_over")
    return failure("taken-over", `A person has task ${id}; \`/supervise handback ${id}\` gives it back.`);
  if (command === "recover") return recoverRefusal(state);
  const over = endedRefusal(state);
  if (over) return over;
  if (name === "paused" && command !== "pause")
    return failure("paused", `Task ${id} is paused; \`/supervise resume ${id}\` goes on with it.`);
  if (command === "pause" && state.spec?.transport === "process-pipe")
    return failure(
      "no-capability",
      `Task ${id} runs by process-pipe, whose session can't be resumed: let it end, or stop it.`,
    );
  if (command === "send") {
    if (state.spec?.transport === "process-pipe")
      return failure(
        "no-capability",
        `Task ${id} runs by process-pipe, which takes one message only; start a new task.`,
      );
    if (state.hold?.fault)
      return failure(
        "fault",
        `Automation of task ${id} is off after a fault (${state.hold.reason}): ${state.hold.message}`,
      );
    if (state.prompts.queue.length >= MAX_QUEUED_PROMPTS)
      return failure(
        "queue-full",
        `Task ${id} already has ${MAX_QUEUED_PROMPTS} messages waiting; let the worker get to them.`,
      );
    return null;
  }
  if (command === "verify") {
    if (isActive(state.verification)) return failure("verifying", `Task ${id} is being verified right now.`);
    if (!isIdle(state))
      return failure("busy", `Task ${id} is at work; it can be verified when its turn is over, or stop it first.`);
  }
  return null;
}

function recoverRefusal(state: TaskState): Failure | null {
  const id = state.taskId;
  const name = stateName(state);
  if (name === "failed_to_stop")
    return failure("remaining", `Something of task ${id} may still run; run \`/supervise stop ${id}\` again first.`);
  if (name === "stopping")
    return failure("stopping", `Task ${id} is under a stop; \`/supervise stop ${id}\` ends it, then recover it.`);
  if (state.hold?.fault)
    return failure(
      "fault",
      `Automation of task ${id} is off after a fault (${state.hold.reason}): ${state.hold.message} Read \`/supervise report ${id}\`, then \`/supervise resume ${id} --fault ${state.hold.reason}\`.`,
    );
  if (state.spec?.transport === "process-pipe" && state.prompts.goalGiven)
    return failure(
      "no-capability",
      `Task ${id} ran by process-pipe, whose session can't be resumed. ${hasLostItsPipe(state) ? `Look at the workspace, then \`/supervise verify ${id}\` or \`/supervise stop ${id}\`.` : "Start a new task."}`,
    );
  return null;
}

/** What can't be taken over now can be soon, or names the command that comes first. */
function takeoverRefusal(state: TaskState): Failure | null {
  const id = state.taskId;
  const name = stateName(state);
  const over = endedRefusal(state);
  if (over) return over;
  if (state.spec?.transport === "process-pipe")
    return failure(
      "no-capability",
      `Task ${id} runs by process-pipe, whose session can't be resumed; stop it instead.`,
    );
  if (state.control.kind === "taken-over") return null;
  if (state.control.kind === "pausing" || state.control.kind === "taking-over" || state.worker.kind === "ending")
    return failure("busy", `The worker of task ${id} is just ending; ask again in a moment.`);
  if (!state.prompts.goalGiven || name === "starting" || state.worker.kind === "wanted")
    return failure("starting", `The worker of task ${id} is still starting; ask again in a moment.`);
  if (state.turn.kind === "sending")
    return failure("busy", `Task ${id} is just being told something; ask again in a moment.`);
  return null;
}

function handbackRefusal(state: TaskState): Failure | null {
  const id = state.taskId;
  const over = endedRefusal(state);
  if (over) return over;
  if (!isTakenOver(state))
    return failure(
      "not-taken-over",
      `Nobody has taken task ${id} over; \`/supervise status ${id}\` shows what it waits for.`,
    );
  if (hasProcess(state)) return failure("busy", `The worker of task ${id} is just ending; ask again in a moment.`);
  if (state.hold?.fault)
    return failure(
      "fault",
      `Automation of task ${id} is off after a fault (${state.hold.reason}): ${state.hold.message} Read \`/supervise report ${id}\`, then \`/supervise resume ${id} --fault ${state.hold.reason}\`, then hand it back.`,
    );
  return null;
}

/** A task that is over, or on the way there, is driven by nobody. */
function endedRefusal(state: TaskState): Failure | null {
  const id = state.taskId;
  const name = stateName(state);
  switch (name) {
    case "completed":
      return failure("completed", `Task ${id} is completed; start a new one for more work.`);
    case "failed":
    case "stopped":
      return failure("ended", `Task ${id} is ${name}; \`/supervise recover ${id}\` goes on with it.`);
    case "failed_to_stop":
      return failure("remaining", `Task ${id} could not be stopped whole; run \`/supervise stop ${id}\` again first.`);
    case "stopping":
      return failure("stopping", `Task ${id} is being stopped.`);
    default:
      return null;
  }
}

/** What judging an answer needs to know of a request. */
type Answerable = Pick<RequestState, "requestId" | "phase"> & { kind: RequestState["kind"] | "sign-off" };

/** Null when this request takes this kind of answer. */
export function requestRefusal(request: Answerable, command: "approve" | "deny" | "answer"): Failure | null {
  const id = request.requestId;
  if (request.phase === "answered") return failure("already-answered", `Request ${id} was answered already.`);
  if (command === "approve" && request.kind === "question")
    return failure(
      "needs-answer",
      `Request ${id} is a question; answer it with \`/supervise answer ${id} <label or text>\`.`,
    );
  if (command === "answer" && request.kind !== "question")
    return failure(
      "no-question",
      `Request ${id} is not a question; use \`/supervise approve ${id}\` or \`/supervise deny ${id}\`.`,
    );
  return null;
}
