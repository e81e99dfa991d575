/** Asks a person about one request. Nothing chosen means nothing decided: the request stays pending. */
import { oneLine } from "../../report/inert.ts";
import type { PiPort } from "../pi-port.ts";
import { type Asked, approvalTitle, type Question, questionsOf, questionTitle } from "./dialog-text.ts";

export type Choice =
  | { do: "approve" }
  | { do: "deny"; reason?: string }
  | { do: "answer"; text: string }
  | { do: "later" };

/**
 * The first option is what the Enter key takes, and a dialog may open while somebody types: so it decides nothing.
 */
const LATER = "Later (it stays pending)";
const APPROVE = "Approve";
const DENY = "Deny";
const DENY_WHY = "Deny and say why…";
const OTHER = "Another answer…";

export async function askPerson(port: PiPort, asked: Asked, signal: AbortSignal): Promise<Choice> {
  const questions = asked.kind === "question" ? questionsOf(asked.input) : [];
  return questions.length > 0 ? askQuestions(port, asked, questions, signal) : askApproval(port, asked, signal);
}

async function askApproval(port: PiPort, asked: Asked, signal: AbortSignal): Promise<Choice> {
  const choice = await port.select(approvalTitle(asked), [LATER, APPROVE, DENY, DENY_WHY], signal);
  switch (choice) {
    case APPROVE:
      return { do: "approve" };
    case DENY:
      return { do: "deny" };
    case DENY_WHY: {
      const reason = await port.input(`Why is ${asked.requestId} denied? The worker is told.`, "reason", signal);
      return reason === undefined || reason.trim() === "" ? { do: "later" } : { do: "deny", reason: reason.trim() };
    }
    default:
      return { do: "later" };
  }
}

async function askQuestions(port: PiPort, asked: Asked, questions: Question[], signal: AbortSignal): Promise<Choice> {
  const answers: string[] = [];
  for (const [index, question] of questions.entries()) {
    const title = questionTitle(asked, question, index, questions.length);
    const given = await askQuestion(port, title, question, signal);
    if (typeof given !== "string") return given;
    answers.push(given);
  }
  const [only] = answers;
  if (answers.length === 1 && only !== undefined) return { do: "answer", text: only };
  // Several answers are told apart by the question's number and by semicolons.
  return { do: "answer", text: answers.map((text, index) => `${index + 1}=${text.replaceAll(";", ",")}`).join("; ") };
}

async function askQuestion(
  port: PiPort,
  title: string,
  question: Question,
  signal: AbortSignal,
): Promise<string | Choice> {
  const labels = question.options.map((option) => optionText(option.label, option.description));
  const other = question.multiSelect ? "Several of them, or another answer…" : OTHER;
  const choice = await port.select(title, [LATER, ...labels, other, DENY], signal);
  if (choice === undefined || choice === LATER) return { do: "later" };
  if (choice === DENY) return { do: "deny" };
  if (choice !== other) {
    const label = question.options[labels.indexOf(choice)]?.label;
    return label === undefined ? { do: "later" } : label;
  }
  const hint = question.multiSelect ? "label, label" : "your answer";
  const typed = (await port.input(title, hint, signal))?.trim();
  return typed === undefined || typed === "" ? { do: "later" } : typed;
}

function optionText(label: string, description: string): string {
  return description === "" ? oneLine(label, 120) : `${oneLine(label, 80)}: ${oneLine(description, 160)}`;
}
