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
import { type Fields, fieldsOf, isFields, isTooDeep, reported, textOf } from "./fields.ts";
import { controlError, controlSuccess, hookOutput, permissionOutput } from "./gate-reply.ts";
import { RecentIds } from "./recent-ids.ts";

/** The id under which our PreToolUse hook is registered. */
export const GATE_CALLBACK = "gate";
/** Open questions at one time; more are denied. Each holds its tool input. */
export const MAX_OPEN_REQUESTS = 1000;
/** Ids of answered and cancelled questions that are remembered (about 200 KB). */
const REMEMBERED_IDS = 2000;

interface OpenQuestion {
  kind: "hook" | "ask";
  input: unknown;
  agentId?: string;
  /** Tells a repeated question from another one under the same id. */
  toolUseId: string | undefined;
  toolName: string;
}

interface OpenRequest {
  settle(result: Result<{ response: Fields }>): void;
  cancel: Cancel;
}

export interface ControlChannelOptions {
  write(message: object): Promise<Result>;
  /** True when somebody took the event. A hook or ask that nobody took is denied. */
  publish(event: WorkerEvent): boolean;
  clock: Pick<Clock, "setTimer">;
}

export class ControlChannel {
  readonly #write: ControlChannelOptions["write"];
  readonly #publish: ControlChannelOptions["publish"];
  readonly #clock: ControlChannelOptions["clock"];
  readonly #questions = new Map<string, OpenQuestion>();
  /** Questions that are over, so that a repeated one is told from another one under its id. */
  readonly #over = new RecentIds<{ how: "answered" | "cancelled"; call: string }>(REMEMBERED_IDS);
  readonly #requests = new Map<string, OpenRequest>();
  #closed: string | undefined;

  constructor(options: ControlChannelOptions) {
    this.#write = options.write;
    this.#publish = options.publish;
    this.#clock = options.clock;
  }

  /** How many of Claude's questions wait for an answer. */
  get open(): number {
    return this.#questions.size;
  }

  /** True when the message was one of the channel's. */
  take(message: WireMessage): boolean {
    switch (message.type) {
      case "control_request":
        this.#question(message);
        return true;
      case "control_response":
        this.#response(message);
        return true;
      case "control_cancel_request":
        this.#cancel(message);
        return true;
      default:
        return false;
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
      const cancel = this.#clock.setTimer(timeoutMs, () =>
        settle(failure("control-timeout", `Claude did not answer "${request.subtype}" within ${timeoutMs} ms.`)),
      );
      this.#requests.set(id, { settle, cancel });
      void this.#write({ type: "control_request", request_id: id, request }).then((written) => {
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
    if (reply.decision === "defer") {
      // Recorded on 2.1.268: a subagent that is deferred just ends with no output; can_use_tool has no such answer.
      if (question.kind === "ask") return notDeferrable("Claude asked by can_use_tool, which cannot be put off");
      if (question.agentId !== undefined) return notDeferrable("a subagent's call cannot be put off");
    }
    this.#questions.delete(callId);
    this.#over.add(callId, { how: "answered", call: nameOf(question) });
    const output = question.kind === "hook" ? hookOutput(reply) : permissionOutput(reply, question.input);
    return this.#write(controlSuccess(callId, output));
  }

  /** The worker is gone: nothing is open any more. */
  close(message: string): void {
    this.#closed = message;
    for (const request of [...this.#requests.values()]) request.settle(failure("worker-gone", message));
    for (const [id, question] of this.#questions) this.#over.add(id, { how: "cancelled", call: nameOf(question) });
    this.#questions.clear();
  }

  #question(message: WireMessage): void {
    const id = message.request_id;
    if (!(typeof id === "string" && id !== "") && !(typeof id === "number" && Number.isFinite(id))) {
      this.#publish({
        type: "protocol-error",
        code: "bad-control",
        detail: "A control request without a usable request_id cannot be answered.",
        fatal: false,
      });
      return;
    }
    const request = fieldsOf(message.request);
    const subtype = textOf(request.subtype);
    if (subtype === "hook_callback") this.#hook(id, request);
    else if (subtype === "can_use_tool") this.#ask(id, request);
    else if (typeof id === "number" || !this.#over.has(id)) {
      this.#refuse(id, subtype ?? "none", controlError(id, "The supervisor does not support this request."));
    }
  }

  #hook(id: string | number, request: Fields): void {
    const input = fieldsOf(request.input);
    const call = callOf(input.tool_name, input.tool_use_id ?? request.tool_use_id, input.tool_input);
    const registered = request.callback_id === GATE_CALLBACK && input.hook_event_name === "PreToolUse";
    const cwd = textOf(input.cwd);
    if (!registered) return this.#deny(id, "hook", "This hook was not registered by the supervisor.");
    if (call === undefined || call.toolUseId === undefined || cwd === undefined) {
      return this.#deny(id, "hook", "The supervisor could not read this call.");
    }
    const agentId = textOf(input.agent_id);
    const { toolName, toolUseId } = call;
    this.#put(id, { kind: "hook", ...call, ...reported("agentId", agentId) }, (callId) => ({
      type: "hook",
      callId,
      toolUseId,
      toolName,
      input: call.input,
      cwd,
      ...reported("permissionMode", textOf(input.permission_mode)),
      ...reported("agentId", agentId),
    }));
  }

  #ask(id: string | number, request: Fields): void {
    const call = callOf(request.tool_name, request.tool_use_id, request.input);
    if (call === undefined) return this.#deny(id, "ask", "The supervisor could not read this request.");
    const suggestions = request.permission_suggestions;
    this.#put(id, { kind: "ask", ...call }, (callId) => ({
      type: "ask",
      callId,
      ...reported("toolUseId", call.toolUseId),
      toolName: call.toolName,
      input: call.input,
      suggestions: Array.isArray(suggestions) ? suggestions.length : 0,
    }));
  }

  /** Opens a question, once: a repeated request is dropped, another one under the same id ends both with one `deny`. */
  #put(id: string | number, question: OpenQuestion, event: (callId: string) => WorkerEvent): void {
    if (typeof id === "number") return this.#deny(id, question.kind, "A request id has to be text.");
    const present = this.#questions.get(id);
    if (present !== undefined) {
      if (isSame(present, question)) return;
      this.#publish({ type: "cancelled", callId: id });
      this.#questions.delete(id);
      return this.#deny(id, present.kind, "Two different calls came under one id.");
    }
    const before = this.#over.get(id);
    if (before?.call === nameOf(question)) return;
    if (before !== undefined) return this.#deny(id, question.kind, "Two different calls came under one id.");
    if (this.#questions.size >= MAX_OPEN_REQUESTS) return this.#deny(id, question.kind, "Too many open requests.");
    this.#questions.set(id, question);
    if (this.#publish(event(id)) || !this.#questions.has(id)) return;
    this.#questions.delete(id);
    this.#deny(id, question.kind, "The supervisor could not look at this call.");
  }

  #deny(id: string | number, kind: "hook" | "ask", reason: string): void {
    const reply: GateReply = { decision: "deny", reason };
    const output = kind === "hook" ? hookOutput(reply) : permissionOutput(reply, undefined);
    this.#refuse(id, kind === "hook" ? "hook_callback" : "can_use_tool", controlSuccess(id, output), reason);
  }

  #refuse(id: string | number, subtype: string, answer: object, reason = "It is not known here."): void {
    if (typeof id === "string") this.#over.add(id, { how: "answered", call: subtype });
    void this.#write(answer);
    const detail = `A control request (${subtype}) was refused by the adapter. ${reason}`;
    this.#publish({ type: "protocol-error", code: "control-refused", detail, fatal: false });
  }

  /** An answer to a question that we never asked, or that timed out, changes nothing. */
  #response(message: WireMessage): void {
    const response = fieldsOf(message.response);
    const open = typeof response.request_id === "string" ? this.#requests.get(response.request_id) : undefined;
    if (open === undefined) return;
    if (response.subtype === "success") open.settle({ ok: true, response: fieldsOf(response.response) });
    else open.settle(failure("control-refused", textOf(response.error) ?? "Claude refused without a reason."));
  }

  #cancel(message: WireMessage): void {
    const id = message.request_id;
    const question = typeof id === "string" ? this.#questions.get(id) : undefined;
    if (typeof id !== "string" || question === undefined) return;
    this.#questions.delete(id);
    this.#over.add(id, { how: "cancelled", call: nameOf(question) });
    this.#publish({ type: "cancelled", callId: id });
  }

  #whyNot(callId: string): Result {
    const how = this.#over.get(callId)?.how;
    if (how === "cancelled") return failure("request-cancelled", "Claude took this question back.");
    if (how === "answered") return failure("request-answered", "This question was answered already.");
    return failure("request-unknown", "There is no such question.");
  }
}

function callOf(
  name: unknown,
  id: unknown,
  input: unknown,
): { toolName: string; toolUseId: string | undefined; input: unknown } | undefined {
  const toolName = textOf(name);
  if (toolName === undefined || !isFields(input) || isTooDeep(input)) return undefined;
  return { toolName, toolUseId: textOf(id), input };
}

/** Enough to tell two calls apart; the input itself is not kept once the question is over. */
function nameOf(question: OpenQuestion): string {
  return `${question.kind} ${question.toolName} ${question.toolUseId ?? ""}`;
}

function isSame(a: OpenQuestion, b: OpenQuestion): boolean {
  return (
    a.kind === b.kind &&
    a.toolName === b.toolName &&
    a.toolUseId === b.toolUseId &&
    JSON.stringify(a.input) === JSON.stringify(b.input)
  );
}

function notDeferrable(why: string): Promise<Result> {
  return Promise.resolve(failure("not-deferrable", `This call stays open: ${why}. Allow or deny it.`));
}
