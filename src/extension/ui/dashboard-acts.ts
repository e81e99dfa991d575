/** What a key of the dashboard does to a task or a request. Each act asks first, and says what it was answered. */
import { oneLine } from "../../report/inert.ts";
import type { RequestView, Supervisor } from "../../supervisor/api.ts";
import { answerCommands, stateWords } from "../words-for-people.ts";

export type ActingSupervisor = Pick<Supervisor, "approve" | "deny" | "stop" | "recover" | "handback">;

export interface Act {
  question: string;
  /** Resolves with what there is to say. */
  run(): Promise<string>;
}

export function stopAct(supervisor: ActingSupervisor, taskId: string): Act {
  return act(`Stop ${taskId}?`, () => supervisor.stop(taskId, undefined));
}

/** Goes on with a task; one that a person has is handed back. */
export function recoverAct(supervisor: ActingSupervisor, taskId: string, state: string | undefined): Act {
  return state === "taken_over"
    ? act(`Hand ${taskId} back to its worker?`, () => supervisor.handback(taskId, undefined))
    : act(`Recover ${taskId}?`, () => supervisor.recover(taskId, { fresh: false }));
}

/** What needs more than a yes (a question, a signature) is answered by its command: then that is the answer. */
export function decideAct(
  supervisor: ActingSupervisor,
  request: RequestView,
  decision: "approve" | "deny",
): Act | string {
  const id = request.requestId;
  if (decision === "approve" && (request.kind === "question" || request.kind === "sign-off"))
    return answerCommands(request).join("  or  ");
  const what = oneLine(request.toolName, 40);
  return decision === "approve"
    ? act(`Approve ${what} (${id})?`, () => supervisor.approve(id, undefined, "dialog"))
    : act(`Deny ${what} (${id})?`, () => supervisor.deny(id, undefined, "dialog"));
}

type Answered = { ok: boolean; message?: string; state?: string; taskId?: string };

function act(question: string, run: () => Promise<Answered>): Act {
  return {
    question,
    async run() {
      const done = await run();
      if (!done.ok) return done.message ?? "That was refused.";
      return done.state === undefined ? "Done." : `Done: ${stateWords(done.state)}.`;
    },
  };
}
