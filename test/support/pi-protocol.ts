/** What Pi and a client say to each other over RPC, as far as the driver looks at it. */
import type { ChildProcess } from "node:child_process";

/** What an extension showed or asked; `method` says which of the other fields are there. */
export interface UiRequest {
  readonly id: string;
  readonly method: string;
  readonly title?: string;
  readonly message?: string;
  readonly notifyType?: string;
  readonly options?: readonly string[];
  readonly timeout?: number;
  readonly statusKey?: string;
  readonly statusText?: string;
  readonly widgetKey?: string;
  readonly widgetLines?: readonly string[];
}

export type DialogAnswer = { value: string } | { confirmed: boolean } | { cancelled: true };

export interface PiExit {
  code: number | null;
  signal: string | null;
}

/** The text of a user message in Pi's events, or undefined for any other. */
export function userText(message: unknown): string | undefined {
  const { role, content } = (message ?? {}) as { role?: string; content?: string | { text?: string }[] };
  if (role !== "user" || content === undefined) return undefined;
  return typeof content === "string" ? content : content.map((block) => block.text ?? "").join("");
}

/**
 * The exit, once what Pi wrote has been read. A process that outlives Pi and holds its standard output open must not hold
 * this up, so the reading is given half a second.
 */
export function exitOf(child: ChildProcess): Promise<PiExit> {
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code, signal) => {
      const done = () => {
        clearTimeout(late);
        resolve({ code, signal });
      };
      const late = setTimeout(done, 500);
      child.once("close", done);
    });
  });
}
