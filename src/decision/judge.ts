/**
 * What the model's calls mean: one clear and allowed decision, an escalation, or nothing. Strict on purpose: whatever is
 * not in the table below goes to a person, and nothing here can turn a fault into an approval.
 */
import type {
  Decision,
  DecisionCall,
  DecisionCategory,
  DecisionKind,
  Unavailable,
  UnavailableCode,
} from "../core/contracts/decision.ts";
import { cut, visible } from "../core/text.ts";
import { decideTool } from "./decide-tool.ts";
import { type AskedQuestion, fieldOf, textOf } from "./questions.ts";

/** Characters of a reason, of one answer, of the message to the worker. Longer ones are cut, not refused. */
export const MAX_REASON = 2_000;
export const MAX_ANSWER = 4_000;
export const MAX_MESSAGE = 4_000;

const NO_REASON = "No reason was given.";

export const ALLOWED: Readonly<Record<DecisionKind, readonly Decision["decision"][]>> = {
  tool: ["approve", "deny", "escalate"],
  question: ["answer", "deny", "escalate"],
  plan: ["approve", "deny", "escalate"],
  "turn-end": ["continue", "verify", "escalate"],
  exit: ["continue", "escalate"],
};

/** The part of the question that judging needs. */
export interface Asked {
  kind: DecisionKind;
  /** With `question`. */
  questions?: readonly AskedQuestion[];
  /** Not all of it could be shown: what was not seen is not approved. */
  partly?: boolean;
}

export function judge(asked: Asked, calls: readonly DecisionCall[]): Decision | Unavailable {
  const [call] = calls;
  if (call === undefined) return unavailable("no-call", "The decider answered without a decision.");
  if (calls.length > 1) return unavailable("two-calls", `The decider made ${calls.length} calls where one counts.`);
  if (call.name !== decideTool.name) return unavailable("no-call", "The decider called something else than decide.");

  const given = call.arguments;
  const decision = textOf(given, "decision");
  const allowed = ALLOWED[asked.kind].find((one) => one === decision);
  if (allowed === undefined) {
    return unavailable("wrong-decision", `The decider's decision is not one that a ${asked.kind} question allows.`);
  }
  const reason = cut(visible(textOf(given, "reason")?.slice(0, 2 * MAX_REASON) ?? ""), MAX_REASON).trim();
  if (reason === "" && allowed !== "escalate" && allowed !== "deny") {
    return unavailable("wrong-decision", "The decider gave no reason.");
  }
  switch (allowed) {
    case "approve":
      return approve(asked, given, reason);
    case "answer":
      return answer(asked.questions ?? [], given, reason);
    case "continue":
      return goOn(asked.kind, given, reason);
    case "deny":
    case "verify":
      return { decision: allowed, reason: reason === "" ? NO_REASON : reason };
    case "escalate": {
      const named = fieldOf(given, "category") === undefined ? {} : { category: categoryOf(given) };
      return { decision: allowed, reason: reason === "" ? NO_REASON : reason, ...named };
    }
  }
}

export function unavailable(code: UnavailableCode, reason: string): Unavailable {
  return { decision: "unavailable", code, reason: cut(visible(reason.slice(0, 2_000)), 500) };
}

function approve(asked: Asked, given: unknown, reason: string): Decision {
  if (asked.partly === true) return { decision: "escalate", reason, meant: "approve" };
  if (asked.kind !== "plan") return { decision: "approve", reason };
  const category = categoryOf(given);
  if (category !== "detail") return { decision: "escalate", reason, category, meant: "approve" };
  return { decision: "approve", reason };
}

function answer(questions: readonly AskedQuestion[], given: unknown, reason: string): Decision | Unavailable {
  const category = categoryOf(given);
  if (category !== "detail") return { decision: "escalate", reason, category, meant: "answer" };
  const answers = fieldOf(given, "answers");
  const all = questions.map((question, index) => [question.question, answerTo(question, index, answers)] as const);
  if (all.length === 0 || all.some(([, one]) => one === undefined)) {
    return unavailable("wrong-decision", "The decider did not answer every question.");
  }
  return { decision: "answer", reason, answers: Object.fromEntries(all) as Record<string, string> };
}

function goOn(kind: DecisionKind, given: unknown, reason: string): Decision | Unavailable {
  if (kind === "exit") return { decision: "continue", reason };
  const message = cut(visible(textOf(given, "message")?.slice(0, 2 * MAX_MESSAGE) ?? ""), MAX_MESSAGE).trim();
  if (message === "") return unavailable("wrong-decision", "The decider said continue, but not with what.");
  return { decision: "continue", reason, message };
}

/** Choices of architecture, scope and risk are a person's; so is whatever the decider did not or wrongly name. */
function categoryOf(given: unknown): DecisionCategory {
  const category = textOf(given, "category");
  return category === "detail" || category === "architecture" || category === "scope" ? category : "risk";
}

/** By the question's text, as it was shown or not, or by its number; a list is several labels. */
function answerTo(question: AskedQuestion, index: number, answers: unknown): string | undefined {
  const raw =
    fieldOf(answers, question.question) ??
    fieldOf(answers, visible(question.question)) ??
    fieldOf(answers, `${index + 1}`);
  const list: unknown[] = Array.isArray(raw) ? raw : [raw];
  if (list.length === 0 || !list.every((one) => typeof one === "string" && one.trim() !== "")) return undefined;
  if (list.length > 1 && !question.multiSelect) return undefined;
  return list.map((one) => fit(question, String(one))).join(", ");
}

function fit(question: AskedQuestion, text: string): string {
  const known = labelOf(question, text);
  if (known !== undefined) return known;
  const parts = question.multiSelect ? text.split(",").map((part) => labelOf(question, part)) : [];
  if (parts.length > 1 && parts.every((part) => part !== undefined)) return parts.join(", ");
  return cut(visible(text.slice(0, 2 * MAX_ANSWER)), MAX_ANSWER).trim();
}

function labelOf(question: AskedQuestion, text: string): string | undefined {
  const same = (label: string): boolean => normal(label) === normal(text) || normal(visible(label)) === normal(text);
  return (
    question.options.find(({ label }) => label === text)?.label ??
    question.options.find(({ label }) => same(label))?.label
  );
}

function normal(text: string): string {
  return text.trim().toLowerCase();
}
