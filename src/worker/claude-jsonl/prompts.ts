/** Each prompt is written once a process: its uuid is the idempotency key, on our side as on Claude's. */
import { createHash } from "node:crypto";
import { failure, type Result } from "../../core/result.ts";
import { RecentIds } from "./recent-ids.ts";

/** Longer text belongs in a file that the prompt names. */
export const MAX_PROMPT_BYTES = 1024 * 1024;
/** After these failures the worker cannot have read the prompt: the key may be used again. */
const NEVER_WRITTEN = new Set(["backpressure", "input-closed", "not-ready", "one-prompt"]);
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export class PromptLedger {
  readonly #sent = new RecentIds<{ hash: string; result: Promise<Result> }>(1000);

  /** Runs `write` for a new key; a known key with the same text gets the first write's result, ambiguous ones too. */
  once(key: string, text: string, write: () => Promise<Result>): Promise<Result> {
    if (!UUID.test(key)) return refuse("prompt-id", "A prompt needs a UUID as its key.");
    const bytes = Buffer.byteLength(text);
    if (bytes > MAX_PROMPT_BYTES) {
      return refuse(
        "prompt-too-long",
        `This prompt has ${bytes} bytes; ${MAX_PROMPT_BYTES} are allowed. Put the text into a file and name it.`,
      );
    }
    const hash = createHash("sha256").update(text).digest("hex");
    const before = this.#sent.get(key);
    if (before === undefined) {
      const result = write();
      this.#sent.add(key, { hash, result });
      void result.then((written) => {
        if (!written.ok && NEVER_WRITTEN.has(written.reason)) this.#sent.forget(key);
      });
      return result;
    }
    if (before.hash === hash) return before.result;
    return refuse("key-conflict", "Another text was sent under this key before; it is not sent.");
  }
}

/**
 * One user message. Claude Code 2.1.268 reads each `@path` in a prompt into it, without any hook and outside the workspace
 * too, and runs a leading `/command` (`/clear` drops the conversation). Prompts hold text that nobody typed, such as the
 * output of a failed test. `client_composed` has the text delivered as written, but Claude's own context (its environment,
 * its agents) then comes only after the turn's first tool call, so it is only set where there is something to expand.
 */
export function userMessage(text: string, key: string): object {
  const expandable = text.includes("@") || text.trimStart().startsWith("/");
  return {
    type: "user",
    uuid: key,
    ...(expandable ? { client_composed: true } : {}),
    message: { role: "user", content: text },
  };
}

function refuse(reason: string, message: string): Promise<Result> {
  return Promise.resolve(failure(reason, message));
}
