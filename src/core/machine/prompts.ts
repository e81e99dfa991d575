/**
 * Messages to the worker: each is wanted, durable, written, acknowledged, and never written twice (invariant 9). A
 * person's messages queue up; one is sent at each idle point.
 */
import type { EventMap, TaskEvent } from "../events.ts";
import type { Handback, OpenPrompt, TaskState } from "./state.ts";

/** More waiting messages than this are refused at the command. */
export const MAX_QUEUED_PROMPTS = 20;
const SHOWN_CHARS = 200;

export function prompts(state: TaskState, event: TaskEvent): TaskState {
  const { prompts: p } = state;
  switch (event.type) {
    case "task.recovering": {
      const { fresh, resume } = event.data;
      const goalGiven = p.goalGiven && !fresh;
      const quarantined = p.quarantined && !fresh;
      return {
        ...state,
        prompts: {
          ...p,
          goalGiven,
          goOn: resume,
          handback: fresh ? null : (handbackOf(event.data.handback) ?? p.handback),
          open: null,
          /* Told again until its person has said something: the Pi that was to tell it may have died before. */
          doubtful: fresh ? null : (inDoubt(p.open) ?? p.doubtful),
          sinceResume: resume ? 0 : null,
          quarantined,
        },
      };
    }
    case "worker.started": {
      const goesOn = Object.values(state.requests).some((request) => request.deferral === "deferred");
      return goesOn ? { ...state, prompts: { ...p, goOn: false } } : state;
    }
    case "prompt.queued": {
      const { promptId, source, text, redacted } = event.data;
      return { ...state, prompts: { ...p, queue: [...p.queue, { promptId, source, text, redacted }], doubtful: null } };
    }
    case "prompt.intent": {
      const { promptId, source, text } = event.data;
      return {
        ...state,
        prompts: {
          ...p,
          goalGiven: p.goalGiven || source === "goal",
          goOn: false,
          handback: source === "handback" ? null : p.handback,
          queue: p.queue.filter((queued) => queued.promptId !== promptId),
          open: { promptId, source, text: text.slice(0, SHOWN_CHARS), phase: "intent" },
        },
      };
    }
    case "prompt.written":
      if (p.open?.promptId !== event.data.promptId) return state;
      return { ...state, prompts: { ...p, sent: p.sent + 1, open: { ...p.open, phase: "written" } } };
    case "prompt.ack":
      /* What only waits in Claude's own queue dies with the process: it has arrived when its turn begins. */
      if (p.open?.promptId !== event.data.promptId || event.data.state === "discarded" || event.data.state === "queued")
        return state;
      return { ...state, prompts: { ...p, open: { ...p.open, phase: "acknowledged" } } };
    case "prompt.failed": {
      const { promptId } = event.data;
      const queue = p.queue.filter((queued) => queued.promptId !== promptId);
      /* A note that held a secret is gone with the memory that had it; the worker is told to go on without it. */
      const handback = p.handback?.promptId === promptId ? null : p.handback;
      return { ...state, prompts: { ...p, queue, handback, open: p.open?.promptId === promptId ? null : p.open } };
    }
    case "turn.result": {
      const sinceResume = p.sinceResume === null ? null : p.sinceResume + 1;
      const quarantined = p.quarantined || (p.sinceResume === 0 && isBrokenResume(event.data));
      return { ...state, prompts: { ...p, open: null, sinceResume, quarantined } };
    }
    case "timer.fired":
      return event.data.name === "retry" && state.turn.kind === "waiting"
        ? { ...state, prompts: { ...p, goOn: true } }
        : state;
    default:
      return state;
  }
}

function handbackOf(data: EventMap["task.recovering"]["handback"]): Handback | null {
  if (data === undefined) return null;
  const { promptId, note = null, redacted, turns = null } = data;
  return { promptId, note, redacted, turns };
}

/**
 * What was begun and never acknowledged may or may not have arrived (invariant 9: it is not sent again). Our own words
 * lose nothing by it: the next turn and the next verification bring them up anew.
 */
function inDoubt(open: OpenPrompt | null): string | null {
  return open?.source === "person" && open.phase !== "acknowledged" ? open.text : null;
}

/**
 * A resumed session that says nothing at all, or whose very history the service refuses (a torn transcript gives a 400
 * about tool_use ids): the conversation is not what it was.
 */
function isBrokenResume(result: EventMap["turn.result"]): boolean {
  if (result.isError) return result.apiErrorStatus === 400;
  return result.numTurns === 0 && result.chars === 0;
}
