/** What an approval dialog shows: the whole call with control characters visible, its rule, folder, length and hash. */
import { createHash } from "node:crypto";
import { oneLine, showControls } from "../../report/inert.ts";
import { callText, isRecord } from "../words-for-people.ts";

/** What a dialog needs to know of a request. */
export interface Asked {
  requestId: string;
  taskId: string;
  kind: "tool" | "question" | "plan" | "sign-off";
  toolName: string;
  /** Redacted. */
  input: unknown;
  cwd: string;
  rule: string;
  reason: string;
  loss: "recoverable" | "lost" | null;
}

/** Characters of a call that a dialog shows; of a longer one begin and end, and the dialog says so. */
const MAX_CALL = 6_000;

export function approvalTitle(asked: Asked): string {
  if (asked.kind === "sign-off") {
    return [
      `${asked.taskId} passed its verification and needs your signature (${asked.requestId})`,
      "",
      showControls(asked.reason).slice(0, MAX_CALL),
      "",
      `Approve completes the task if its files are still the verified ones. In ${oneLine(showControls(asked.cwd), 300)}`,
    ].join("\n");
  }
  const call = callText(asked.toolName, asked.input);
  const hash = createHash("sha256").update(call).digest("hex").slice(0, 12);
  const what = asked.kind === "plan" ? "has a plan" : `wants to use ${oneLine(asked.toolName, 60)}`;
  return [
    `${asked.taskId} ${what} (${asked.requestId})`,
    "",
    shown(call),
    "",
    `Rule ${oneLine(asked.rule, 100)}: ${oneLine(asked.reason, 400)}`,
    ...(asked.loss === "lost" ? ["What it changes cannot be brought back."] : []),
    `In ${oneLine(showControls(asked.cwd), 300)} · ${call.length} characters · SHA-256 ${hash}`,
  ].join("\n");
}

function shown(call: string): string {
  if (call.length <= MAX_CALL) return call;
  const part = MAX_CALL / 2;
  const left = call.length - MAX_CALL;
  return `${call.slice(0, part)}\n[${left} characters are not shown; read all: /supervise approvals --json]\n${call.slice(-part)}`;
}

export interface Question {
  question: string;
  multiSelect: boolean;
  options: { label: string; description: string }[];
}

/** The questions of an AskUserQuestion input (Claude Code 2.1.268); empty when it has another shape. */
export function questionsOf(input: unknown): Question[] {
  if (!isRecord(input) || !Array.isArray(input.questions)) return [];
  return input.questions.filter(isRecord).map((question) => ({
    question: textOf(question.question),
    multiSelect: question.multiSelect === true,
    options: (Array.isArray(question.options) ? question.options : [])
      .filter(isRecord)
      .map((option) => ({ label: textOf(option.label), description: textOf(option.description) })),
  }));
}

export function questionTitle(asked: Asked, question: Question, index: number, of: number): string {
  const which = of > 1 ? `, question ${index + 1} of ${of}` : "";
  return `${asked.taskId} asks (${asked.requestId}${which})\n\n${showControls(question.question).slice(0, MAX_CALL)}`;
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
