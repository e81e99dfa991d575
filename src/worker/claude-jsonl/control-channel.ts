/**
 * The control channel: questions that Claude asks us (hook callbacks, `can_use_tool`) and questions that we ask Claude
 * (`initialize`, `interrupt`). It decides nothing, with one exception: what cannot be put to the supervisor is answered
 * `deny`, because on Claude Code 2.1.268 an error reply to a hook callback lets the call go on, and a callback that is
 * never answered hangs for its timeout.
 */
import { randomUUID } from "node:crypto";
import type { GateReply, WorkerEvent } from "../../core/contracts/worker.ts";
import { failure, type Result } from "../../core/result.ts";
import type { Cancel, Clock } from "../../platform/clock.ts";
import type { WireMessage } from "../framing/frame-reader.ts";
import { type Fields, fieldsOf, textOf } from "./fields.ts";
import { controlError, controlSuccess, hookOutput, permissionOutput } from "./gate-reply.ts";
import { isReadable, isSameQuestion, nameOf, type Question, readQuestion, type Unreadable } from "./question.ts";
import { RecentIds } from "./recent-ids.ts";

/** Open questions at one time; more are denied. Each holds its tool input. */
export const MAX_OPEN_QUESTIONS = 1000;
/** Questions that are over are remembered by id, 2,000 at least (about 500 KB). */
const REMEMBERED = 2000;
const TWO_UNDER_ONE_ID = "Two different calls came under one id.";

export interface ControlChannelOptions {
  write(message: object): Promise<Result>;
  /** True when somebody took the event. A hook or ask that nobody took is denied. */
  publish(event: WorkerEvent): boolean;
  clock: Pick<Clock, "setTimer">;
}

export type Taken = "control" | "duplicate";

interface OpenRequest {
  settle(result: Result<{ response: Fields }>): void;
  cancel: Cancel;
}

export class ControlChannel {
  readonly #options: ControlChannelOptions;
  readonly #questions = new Map<string, Question>();
  /** Tells a question that is repeated after its end from another one under the same id. */
  readonly #over = new RecentIds<{ how: "answered" | "cancelled"; call: string }>(REMEMBERED);
  readonly #requests = new Map<string, OpenRequest>();
  #closed: string | undefined;

  constructor(options: ControlChannelOptions) {
    this.#options = options;
  }

  /** What became of a message; `undefined` when it is none of the channel's. A `duplicate` was not acted on. */
  take(message: WireMessage): Taken | undefined {
    switch (message.type) {
      case "control_request":
        return this.#asked(message);
      case "control_response":
        this.#answered(message);
        return "control";
      case "control_cancel_request":
        this.#cancelled(message);
        return "control";
      default:
        return undefined;
    }
  }

  /** Asks Claude. Reasons: `control-timeout`, `control-refused` (Claude's own words in the message), `worker-gone`. */
  request(request: { subtype: string } & Fields, timeoutMs: number): Promise<Result<{ response: Fields }>> {
    if (this.#closed !== undefined) return Promise.resolve(failure("worker-gone", this.#closed));
    const id = randomUUID();
    return new Promise((resolve) => {
      const settle = (result: Result<{ response: Fields }>): void => {
        if (!this.#requests.delete(id)) return;
        cancel();
        resolve(result);
      };
      const cancel = this.#options.clock.setTimer(timeoutMs, () =>
        settle(failure("control-timeout", `Claude did not answer "${request.subtype}" within ${timeoutMs} ms.`)),
      );
      this.#requests.set(id, { settle, cancel });
      void this.#options.write({ type: "control_request", request_id: id, request }).then((written) => {
        if (!written.ok) settle(written);
      });
    });
  }

  /**
   * Answers one of Claude's questions. Reasons: `request-unknown`, `request-cancelled`, `request-answered`, `not-deferrable`
   * (the question stays open), and those of the writer.
   */
  reply(callId: string, reply: GateReply): Promise<Result> {
    const question = this.#questions.get(callId);
    if (question === undefined) return Promise.resolve(this.#whyNot(callId));
    const undeferrable = reply.decision === "defer" ? whyNotDeferrable(question) : undefined;
    if (undeferrable !== undefined) {
      return Promise.resolve(
        failure("not-deferrable", `This call stays open: ${undeferrable} cannot be put off. Allow or deny it.`),
      );
    }
    this.#close(callId, question, "answered");
    return this.#options.write(controlSuccess(callId, output(question.kind, reply, question.input)));
  }

  /** The worker is gone: nothing is open any more. */
  close(message: string): void {
    this.#closed = message;
    for (const request of [...this.#requests.values()]) request.settle(failure("worker-gone", message));
    for (const [id, question] of [...this.#questions]) this.#close(id, question, "cancelled");
  }

  /** Opens a question once: what is repeated is dropped, what cannot be put to the supervisor is refused. */
  #asked(message: WireMessage): Taken {
    const id = message.request_id;
    const question = readQuestion(fieldsOf(message.request));
    if (typeof id === "number") {
      this.#refuse(id, { ...unreadable(question), reason: "A request id has to be text." });
    } else if (typeof id !== "string" || id === "") {
      const detail = "A control request without a usable request_id cannot be answered.";
      this.#options.publish({ type: "protocol-error", code: "bad-control", detail, fatal: false });
    } else {
      const present = this.#questions.get(id);
      if (isReadable(question)) return this.#put(id, question, present);
      if (present !== undefined) this.#endConflict(id, present);
      else if (!this.#over.add(id, { how: "answered", call: question.subtype })) return "duplicate";
      else this.#refuse(id, question);
    }
    return "control";
  }

  #put(id: string, question: Question, present: Question | undefined): Taken {
    const before = this.#over.get(id)?.call;
    if (present !== undefined && isSameQuestion(present, question)) return "duplicate";
    if (present === undefined && before === nameOf(question)) return "duplicate";
    if (present !== undefined) this.#endConflict(id, present);
    else if (before !== undefined) this.#refuse(id, { ...unreadable(question), reason: TWO_UNDER_ONE_ID });
    else if (this.#questions.size < MAX_OPEN_QUESTIONS) this.#open(id, question);
    else {
      this.#over.add(id, { how: "answered", call: nameOf(question) });
      this.#refuse(id, { ...unreadable(question), reason: "Too many calls wait already." }, "control-refused");
    }
    return "control";
  }

  #open(id: string, question: Question): void {
    this.#questions.set(id, question);
    const taken = this.#options.publish(question.event(id));
    // A listener that failed may have answered before it did.
    if (taken || this.#questions.get(id) !== question) return;
    this.#close(id, question, "answered");
    this.#refuse(
      id,
      { ...unreadable(question), reason: "The supervisor could not look at this call." },
      "control-refused",
    );
  }

  /** One `deny` ends both: an answer by id could not say which of them it means. */
  #endConflict(id: string, present: Question): void {
    this.#close(id, present, "cancelled");
    this.#options.publish({ type: "cancelled", callId: id });
    this.#refuse(id, { ...unreadable(present), reason: TWO_UNDER_ONE_ID });
  }

  #close(id: string, question: Question, how: "answered" | "cancelled"): void {
    this.#questions.delete(id);
    this.#over.add(id, { how, call: nameOf(question) });
  }

  /** What cannot be read as a call is denied, and said to be a fault of the gate; `code` says that it is none. */
  #refuse(id: string | number, refused: Unreadable, code?: "control-refused"): void {
    const { kind, reason, subtype } = refused;
    const answer =
      kind === "other"
        ? controlError(id, reason)
        : controlSuccess(id, output(kind, { decision: "deny", reason }, undefined));
    void this.#options.write(answer);
    const detail = `The adapter itself refused a control request (${subtype}). ${reason}`;
    const told = code ?? (kind === "other" ? "control-refused" : "gate-unreadable");
    this.#options.publish({ type: "protocol-error", code: told, detail, fatal: false });
  }

  /** An answer to a question that we never asked, or that timed out, changes nothing. */
  #answered(message: WireMessage): void {
    const response = fieldsOf(message.response);
    const open = typeof response.request_id === "string" ? this.#requests.get(response.request_id) : undefined;
    if (open === undefined) return;
    if (response.subtype === "success") open.settle({ ok: true, response: fieldsOf(response.response) });
    else open.settle(failure("control-refused", textOf(response.error) ?? "Claude refused without a reason."));
  }

  #cancelled(message: WireMessage): void {
    const id = message.request_id;
    const question = typeof id === "string" ? this.#questions.get(id) : undefined;
    if (typeof id !== "string" || question === undefined) return;
    this.#close(id, question, "cancelled");
    this.#options.publish({ type: "cancelled", callId: id });
  }

  #whyNot(callId: string): Result {
    switch (this.#over.get(callId)?.how) {
      case "cancelled":
        return failure("request-cancelled", "Claude took this question back.");
      case "answered":
        return failure("request-answered", "This question was answered already.");
      case undefined:
        return failure("request-unknown", "There is no such question.");
    }
  }
}

function output(kind: "hook" | "ask", reply: GateReply, input: Fields | undefined): object {
  return kind === "hook" ? hookOutput(reply) : permissionOutput(reply, input);
}

function unreadable(question: Question | Unreadable): Unreadable {
  if (!isReadable(question)) return question;
  const subtype = question.kind === "hook" ? "hook_callback" : "can_use_tool";
  return { kind: question.kind, subtype, reason: "" };
}

/** Recorded on 2.1.268: a deferred subagent just ends with no output, and `can_use_tool` has no such answer. */
function whyNotDeferrable(question: Question): string | undefined {
  if (question.kind === "ask") return "what Claude asks by can_use_tool";
  return question.agentId === undefined ? undefined : "a subagent's call";
}
