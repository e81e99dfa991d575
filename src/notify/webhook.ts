/**
 * Tells a person through a webhook that a task needs them. Outbound only: nothing that a receiver answers does anything
 * here. A failure changes nothing else and holds nothing up; the address stands in no log and no error.
 *
 * Memory: a few kilobytes for each notice under way, and at most `MAX_WAITING` of them.
 */
import { createHmac } from "node:crypto";
import type { Notice } from "../core/contracts/notice.ts";
import type { Redactor } from "../core/contracts/redaction.ts";
import { type Failure, failure, type Result } from "../core/result.ts";
import type { Clock } from "../platform/clock.ts";
import { payloadOf, type WebhookFormat } from "./payload.ts";
import { type PostOutcome, postOnce } from "./post-once.ts";
import { PRIVATE_TARGET, type Resolve, targetOf } from "./target.ts";

export interface WebhookOptions {
  url: string;
  format: WebhookFormat;
  /** HMAC-SHA256 key of the signature header. */
  secret?: string;
  /** Names that resolve to private addresses, and link-local addresses, are fine. Default: false. */
  allowPrivate?: boolean;
  redactor: Redactor;
  clock: Clock;
  /** 0 to 1, for the spread of the waits. Default: `Math.random`. */
  random?: () => number;
  /** Default: the system's resolver. */
  resolve?: Resolve;
}

export interface Webhook {
  /**
   * At most three tries of 5 s each. Never rejects. Reasons: `bad-url`, `private-target`, `redirect`, `refused` (with the
   * status), `unreachable`, `timeout`, `closed`, `busy`.
   */
  send(notice: Notice): Promise<Result<{ status: number; tries: number }>>;
  /** Ends what is under way, at once. Without it a notice can keep the process for as long as its tries take. */
  close(): void;
}

export const SIGNATURE_HEADER = "x-pi-claude-supervisor-signature";
const TRY_TIMEOUT_MS = 5_000;
/** Milliseconds before the second and the third try, each half fixed and half spread. */
const WAITS_MS = [1_000, 4_000];
const MAX_WAITING = 50;

export function createWebhook(options: WebhookOptions): Webhook {
  const { clock, random = Math.random } = options;
  const closed = new AbortController();
  let underWay = 0;

  async function send(notice: Notice): Promise<Result<{ status: number; tries: number }>> {
    const found = targetOf(options.url, options.allowPrivate ?? false, options.resolve);
    if (!found.ok) return found;
    const body = payloadOf(notice, options.format, options.redactor);
    const headers = headersFor(notice, body, options.secret);
    const { signal } = closed;
    for (let tries = 1; ; tries += 1) {
      const outcome = await postOnce({ target: found.target, headers, body, timeoutMs: TRY_TIMEOUT_MS, clock, signal });
      const refused = judge(outcome, options.format);
      if (refused === undefined) return { ok: true, status: statusOf(outcome), tries };
      const wait = WAITS_MS[tries - 1];
      if (wait === undefined || !isWorthRepeating(outcome, refused)) return refused;
      const asked = outcome.kind === "answered" ? (outcome.retryAfterMs ?? 0) : 0;
      await pause(clock, Math.max(asked, wait * (0.5 + random() / 2)), signal);
      if (signal.aborted) return failure("closed", "The webhook was closed before the notice was sent.");
    }
  }

  return {
    async send(notice) {
      if (closed.signal.aborted) return failure("closed", "The webhook is closed.");
      if (underWay >= MAX_WAITING) return failure("busy", `${MAX_WAITING} notices wait for the webhook already.`);
      underWay += 1;
      try {
        return await send(notice);
      } catch {
        // Whatever it is, its text could hold the address.
        return failure("unreachable", "The webhook could not be used.");
      } finally {
        underWay -= 1;
      }
    },
    close: () => closed.abort(),
  };
}

/** `sha256=<hex>`: HMAC-SHA256 of exactly the body's bytes. */
export function signatureOf(body: string, secret: string): string {
  return `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`;
}

function headersFor(notice: Notice, body: string, secret: string | undefined): Record<string, string> {
  return {
    "content-type": "application/json; charset=utf-8",
    "content-length": String(Buffer.byteLength(body)),
    "user-agent": "pi-claude-supervisor",
    "idempotency-key": notice.id.replace(/[^\x21-\x7e]/g, "").slice(0, 100),
    ...(secret === undefined || secret === "" ? {} : { [SIGNATURE_HEADER]: signatureOf(body, secret) }),
  };
}

function judge(outcome: PostOutcome, format: WebhookFormat): Failure | undefined {
  if (outcome.kind === "failed") {
    switch (outcome.code) {
      case "TIMEOUT":
        return failure("timeout", `The webhook did not answer within ${TRY_TIMEOUT_MS / 1_000} s.`);
      case "ABORTED":
        return failure("closed", "The webhook was closed before the notice was sent.");
      case PRIVATE_TARGET:
        return failure(
          "private-target",
          "The webhook's host has a private address. Set webhook.allowPrivate if that is meant.",
        );
      default:
        return failure("unreachable", `The webhook cannot be reached (${outcome.code}).`);
    }
  }
  const { status } = outcome;
  if (status >= 300 && status < 400) {
    return failure(
      "redirect",
      `The webhook answered with a redirect (${status}), which is not followed. Give its own address.`,
    );
  }
  if (status < 200 || status >= 300) return failure("refused", `The webhook answered with status ${status}.`);
  const code = format === "wecom" ? weComError(outcome.body) : undefined;
  return code === undefined ? undefined : failure("refused", `The webhook refused the notice (errcode ${code}).`);
}

/** WeCom answers 200 with `errcode`, 0 when all is well; 45009 is its rate limit. */
function weComError(body: string): number | undefined {
  try {
    const answer: unknown = JSON.parse(body);
    const code = typeof answer === "object" && answer !== null && "errcode" in answer ? answer.errcode : undefined;
    return typeof code === "number" && code !== 0 ? code : undefined;
  } catch {
    return undefined; // not WeCom itself, or an empty answer: the status was fine
  }
}

/** A redirect, a refusal of this request or a refused address would only be the same again. */
function isWorthRepeating(outcome: PostOutcome, refused: Failure): boolean {
  if (outcome.kind === "failed") return refused.reason === "timeout" || refused.reason === "unreachable";
  return outcome.status === 408 || outcome.status === 429 || outcome.status >= 500 || /\b45009\b/.test(refused.message);
}

function statusOf(outcome: PostOutcome): number {
  return outcome.kind === "answered" ? outcome.status : 0;
}

function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const cancel = clock.setTimer(ms, done);
    function done(): void {
      cancel();
      signal.removeEventListener("abort", done);
      resolve();
    }
    signal.addEventListener("abort", done, { once: true });
    if (signal.aborted) done();
  });
}
