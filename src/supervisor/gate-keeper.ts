/**
 * Every tool call passes here: judged on its real input, logged redacted, answered from the log's state. What goes
 * wrong in here denies the call; an error reply would let it through (seen on Claude Code 2.1.268).
 */
import type { PolicyContext, PolicyDecision, ToolCall } from "../core/contracts/policy.ts";
import type { GateReply, WorkerEvent } from "../core/contracts/worker.ts";
import type { EventMap } from "../core/events.ts";
import { lateReason } from "../core/machine/answer.ts";
import { deferredFor } from "../core/machine/deferral.ts";
import { isLate } from "../core/machine/late.ts";
import type { RequestKind } from "../core/machine/state.ts";
import { judge, normalizeAsk } from "../policy/index.ts";
import { sha256 } from "../store/event-line.ts";
import { boundedInput } from "./bounds.ts";
import type { DriverPort } from "./effect-port.ts";
import type { DiskFacts } from "./policy-facts.ts";
import { heldUp } from "./task-stop.ts";

type HookEvent = Extract<WorkerEvent, { type: "hook" }>;
type AskEvent = Extract<WorkerEvent, { type: "ask" }>;

export interface GateKeeper {
  hook(event: HookEvent): void;
  ask(event: AskEvent): void;
  cancelled(callId: string): void;
  /** Writes an answer to the worker and records how that went. */
  reply(callId: string, toolUseId: string, requestId: string | null, reply: GateReply): void;
}

const KINDS: Readonly<Record<string, RequestKind>> = { AskUserQuestion: "question", ExitPlanMode: "plan" };

export function createGateKeeper(port: DriverPort, context: PolicyContext, facts: DiskFacts): GateKeeper {
  const decide = (toolName: string, input: unknown, cwd: string): PolicyDecision => {
    facts.nextCall();
    try {
      return judge({ toolName, input, cwd }, context, facts);
    } catch (error) {
      const detail = error instanceof Error ? error.message : String(error);
      return { verdict: "deny", rule: "policy.internal-error", reason: `The policy failed on this call (${detail}).` };
    }
  };

  const put = (
    event: { callId: string; toolUseId: string; toolName: string; input: unknown; cwd: string; agentId?: string },
    via: "hook" | "ask",
    decision: PolicyDecision,
  ): void => {
    const late = isLate(port.state, "gate.verdict");
    /* A deferred call that Claude asks again keeps its id, and with it the answer that it may have by now. */
    const deferred = deferredFor(port.state, event.toolUseId);
    const waits = !late && (decision.verdict === "review" || decision.verdict === "person");
    const data: EventMap["gate.verdict"] = {
      callId: event.callId,
      via,
      toolUseId: event.toolUseId,
      toolName: port.redactor.text(event.toolName),
      verdict: decision.verdict,
      rule: decision.rule,
      reason: port.redactor.text(decision.reason),
      ...(decision.loss === undefined ? {} : { loss: decision.loss }),
      input: boundedInput(port.redactor.data(event.input)),
      cwd: port.redactor.text(event.cwd),
      ...(event.agentId === undefined ? {} : { agentId: event.agentId }),
      /* Told apart are asks that were not allowed: their repeats are counted. */
      ...(decision.verdict === "allow"
        ? {}
        : { ask: askHash({ toolName: event.toolName, input: event.input, cwd: event.cwd }) }),
      ...(waits
        ? { requestId: deferred?.requestId ?? port.deps.ids.requestId(), kind: KINDS[event.toolName] ?? "tool" }
        : {}),
      ...(late ? { late: true } : {}),
    };
    if (waits) port.raw.keepInput(event.callId, event.input);
    if (port.record({ type: "gate.verdict", data }) !== "lost") return;
    const reason = "The supervisor can't write its log, so no tool call may run. End your turn.";
    void port.worker?.reply(event.callId, { decision: "deny", reason });
  };

  return {
    hook(event) {
      const decision = decide(event.toolName, event.input, event.cwd);
      put(event, "hook", decision);
    },
    ask(event) {
      const toolUseId = event.toolUseId ?? event.callId;
      const call = { ...event, toolUseId, cwd: context.workspace };
      put(call, "ask", answeredBefore(port, toolUseId) ?? raised(decide(event.toolName, event.input, call.cwd)));
    },
    cancelled(callId) {
      port.raw.dropInput(callId);
      const request = Object.values(port.state.requests).find((one) => one.callId === callId);
      if (request) port.record({ type: "request.cancelled", data: { requestId: request.requestId, why: "claude" } });
    },
    reply(callId, toolUseId, requestId, reply) {
      const answers = requestId === null ? undefined : port.raw.answers(requestId);
      const updated = withAnswers(
        answers === undefined ? reply : { ...reply, updatedInput: { answers } },
        port.raw.input(callId),
      );
      void send(port, callId, toolUseId, requestId, updated);
    },
  };
}

/** Equal asks have equal hashes; the ask itself may hold a secret. */
function askHash(call: ToolCall): string {
  return sha256(normalizeAsk(call)).slice(0, 32);
}

const STOPPED: GateReply = { decision: "deny", reason: "The supervisor has stopped this task; end your turn." };

async function send(
  port: DriverPort,
  callId: string,
  toolUseId: string,
  requestId: string | null,
  reply: GateReply,
): Promise<void> {
  const wait = reply.decision === "allow" ? heldUp(port) : null;
  if (wait && !(await wait)) reply = STOPPED;
  if (reply.decision === "defer" || (requestId !== null && reply.decision !== "deny")) {
    const synced = await port.synced();
    if (!synced.ok) {
      reply = {
        decision: "deny",
        reason: "The supervisor can't write its log, so no tool call may run. End your turn.",
      };
    } else if (isLate(port.state, "gate.verdict")) {
      reply = { decision: "deny", reason: lateReason(port.state) };
    } else if (reply.decision === "allow" && port.estop.held() !== null) {
      reply = STOPPED;
    }
  }
  const outcome = port.worker
    ? await port.worker.reply(callId, reply)
    : { ok: false as const, reason: "worker-gone", message: "The worker is gone." };
  port.raw.dropInput(callId);
  if (requestId !== null) {
    port.record({
      type: "request.replied",
      data: { requestId, ok: outcome.ok, ...(outcome.ok ? {} : { reason: outcome.reason }) },
    });
  } else if (!outcome.ok) {
    port.record({
      type: "gate.reply-failed",
      data: { callId, toolUseId, reason: outcome.reason, message: outcome.message },
    });
  }
}

/** ExitPlanMode asks by `can_use_tool` although its hook was answered (2.1.268): it gets the same answer, once more. */
function answeredBefore(port: DriverPort, toolUseId: string): PolicyDecision | undefined {
  const answer = port.state.answered[toolUseId];
  if (answer === undefined) return undefined;
  return answer === "deny"
    ? { verdict: "deny", rule: "ask.answered", reason: "This call was denied before." }
    : { verdict: "allow", rule: "ask.answered", reason: "This call was approved before." };
}

/** Claude asks although our hook said allow: the person's own ask rules want a look at it, so the gate's allow is not enough. */
function raised(decision: PolicyDecision): PolicyDecision {
  if (decision.verdict !== "allow") return decision;
  const reason = "Claude's own settings ask for this call.";
  return { verdict: "review", rule: "ask.own-rule", reason, loss: "recoverable" };
}

/** Answers of a question travel inside the whole input, as Claude sent it. */
function withAnswers(reply: GateReply, input: unknown): GateReply {
  if (reply.updatedInput === undefined) return reply;
  const base = typeof input === "object" && input !== null ? input : {};
  return { ...reply, updatedInput: { ...base, ...reply.updatedInput } };
}
