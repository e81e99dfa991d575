/**
 * The dialogs of pending requests: one at a time, never two for one request, closed when the request is answered
 * elsewhere or taken back. What a person leaves pending is not opened again by itself.
 */

import { oneLine } from "../../report/inert.ts";
import type { Supervisor } from "../../supervisor/api.ts";
import type { PiPort } from "../pi-port.ts";
import { answerCommands } from "../words-for-people.ts";
import { askPerson, type Choice } from "./ask-person.ts";
import type { Asked } from "./dialog-text.ts";

export type AnsweringSupervisor = Pick<Supervisor, "approve" | "deny" | "answer">;

export interface Dialogs {
  /** The present requests of one task that a person is asked about. */
  update(taskId: string, asked: readonly Asked[]): void;
  dispose(): void;
}

export function openDialogs(port: PiPort, supervisor: AnsweringSupervisor, later: Set<string>): Dialogs {
  /** Requests that wait for a person, oldest first. */
  const pending = new Map<string, Asked>();
  let open: { requestId: string; abort: AbortController } | undefined;
  let disposed = false;

  function next(): void {
    if (disposed || open !== undefined) return;
    const asked = [...pending.values()].find((request) => !later.has(request.requestId));
    if (asked === undefined) return;
    const current = { requestId: asked.requestId, abort: new AbortController() };
    open = current;
    const closed = () => {
      if (open === current) open = undefined;
      next();
    };
    ask(asked, current.abort.signal).then(closed, (error: unknown) => {
      later.add(asked.requestId);
      port.show(`The dialog of ${asked.requestId} failed: ${oneLine(String(error), 300)}. It stays pending.`, "error");
      closed();
    });
  }

  async function ask(asked: Asked, signal: AbortSignal): Promise<void> {
    const choice = await askPerson(port, asked, signal);
    if (disposed || signal.aborted) return;
    if (choice.do === "later") {
      later.add(asked.requestId);
      port.show(`${asked.requestId} stays pending: ${answerCommands(asked).join("  or  ")}`, "info");
      return;
    }
    // It counts as answered from here on: a failure is shown, and the commands remain.
    later.add(asked.requestId);
    const done = await tell(asked.requestId, choice);
    if (!done.ok) port.show(`${asked.requestId}: ${oneLine(done.message, 500)}`, "error");
  }

  async function tell(requestId: string, choice: Exclude<Choice, { do: "later" }>) {
    switch (choice.do) {
      case "approve":
        return supervisor.approve(requestId, undefined, "dialog");
      case "deny":
        return supervisor.deny(requestId, choice.reason, "dialog");
      case "answer":
        return supervisor.answer(requestId, choice.text, "dialog");
    }
  }

  return {
    update(taskId, asked) {
      const present = new Set(asked.map((request) => request.requestId));
      for (const [requestId, request] of pending) {
        if (request.taskId !== taskId || present.has(requestId)) continue;
        pending.delete(requestId);
        later.delete(requestId);
        if (open?.requestId === requestId) open.abort.abort();
      }
      for (const request of asked) if (!pending.has(request.requestId)) pending.set(request.requestId, request);
      next();
    },
    dispose() {
      disposed = true;
      open?.abort.abort();
    },
  };
}
