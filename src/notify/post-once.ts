/** One HTTP POST: no redirect is followed, no connection kept, no more than a little of the answer read. */
import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import type { Clock } from "../platform/clock.ts";
import { errnoOf } from "../platform/errno.ts";
import type { Target } from "./target.ts";

export type PostOutcome =
  | { kind: "answered"; status: number; retryAfterMs?: number; body: string }
  /** `code` is a system or TLS code such as ECONNREFUSED, or `TIMEOUT`, `ABORTED`. Never an address. */
  | { kind: "failed"; code: string };

export interface PostOptions {
  target: Target;
  headers: Readonly<Record<string, string>>;
  body: string;
  /** Milliseconds for all of it: look-up, connection, answer. */
  timeoutMs: number;
  clock: Clock;
  signal: AbortSignal;
}

const MAX_ANSWER_BYTES = 4_096;
const MAX_RETRY_AFTER_MS = 30_000;

/** Never rejects. */
export function postOnce({ target, headers, body, timeoutMs, clock, signal }: PostOptions): Promise<PostOutcome> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve({ kind: "failed", code: "ABORTED" });
    const send = target.url.protocol === "https:" ? httpsRequest : httpRequest;
    const request = send(target.url, { method: "POST", headers, lookup: target.lookup, agent: false });
    const abort = (): void => end({ kind: "failed", code: "ABORTED" });
    const cancelTimer = clock.setTimer(timeoutMs, () => end({ kind: "failed", code: "TIMEOUT" }));
    let isOver = false;

    function end(outcome: PostOutcome): void {
      if (isOver) return;
      isOver = true;
      cancelTimer();
      signal.removeEventListener("abort", abort);
      request.destroy();
      resolve(outcome);
    }

    signal.addEventListener("abort", abort, { once: true });
    // Stays after the end: a destroyed request may still report.
    request.on("error", (error) => end({ kind: "failed", code: errnoOf(error) ?? "ERROR" }));
    request.on("response", (response) => {
      const status = response.statusCode ?? 0;
      const retryAfterMs = retryAfter(response.headers["retry-after"]);
      const chunks: Buffer[] = [];
      let size = 0;
      const finish = (): void =>
        end({
          kind: "answered",
          status,
          body: Buffer.concat(chunks).subarray(0, MAX_ANSWER_BYTES).toString("utf8"),
          ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
        });
      response.on("data", (chunk: Buffer) => {
        chunks.push(chunk);
        size += chunk.length;
        if (size >= MAX_ANSWER_BYTES) finish();
      });
      response.on("end", finish);
      // Cut off after its status line: the status was said.
      response.on("error", finish);
      response.on("aborted", finish);
    });
    request.end(body);
  });
}

/** Seconds only; a date would need the receiver's clock to be right. */
function retryAfter(header: string | undefined): number | undefined {
  return header !== undefined && /^\d{1,6}$/.test(header)
    ? Math.min(Number(header) * 1_000, MAX_RETRY_AFTER_MS)
    : undefined;
}
