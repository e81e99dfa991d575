/** A person's answer to AskUserQuestion: every question gets a label that exists, or free text. */
import { failure, type Result } from "../core/result.ts";

interface Question {
  question: string;
  labels: string[];
  multiSelect: boolean;
}

const MAX_ANSWER_CHARS = 4_000;

/**
 * `text` answers the one question, or each of several as `question or number=answer; …`. A label is matched without case;
 * with several choices allowed, labels are separated by commas. Reasons: `no-question`, `answer-empty`, `answer-missing`.
 */
export function answersOf(input: unknown, text: string): Result<{ answers: Record<string, string> }> {
  const questions = questionsOf(input);
  const [only] = questions;
  if (!only)
    return failure("no-question", "The request holds no question that can be read; deny it with a word on why.");
  const given = text.trim();
  if (given === "") return failure("answer-empty", `Give an answer: ${choices(only)}.`);
  if (given.length > MAX_ANSWER_CHARS)
    return failure("answer-too-long", `An answer may have ${MAX_ANSWER_CHARS} characters.`);
  if (questions.length === 1) return { ok: true, answers: { [only.question]: fit(only, given) } };
  const parts = given
    .split(";")
    .map((part) => part.trim())
    .filter((part) => part !== "");
  const answers: Record<string, string> = {};
  for (const part of parts) {
    const at = part.indexOf("=");
    const key = part.slice(0, Math.max(at, 0)).trim();
    const question =
      questions[Number(key) - 1] ?? questions.find((one) => one.question.toLowerCase() === key.toLowerCase());
    if (at < 1 || !question) continue;
    const value = part.slice(at + 1).trim();
    if (value !== "") answers[question.question] = fit(question, value);
  }
  const open = questions.filter((question) => answers[question.question] === undefined);
  if (open.length === 0) return { ok: true, answers };
  const numbered = questions.map((question, index) => `${index + 1}=<${choices(question)}>`).join("; ");
  return failure("answer-missing", `There are ${questions.length} questions; answer each: ${numbered}`);
}

export function questionsOf(input: unknown): Question[] {
  const list = typeof input === "object" && input !== null && "questions" in input ? input.questions : undefined;
  if (!Array.isArray(list)) return [];
  return list.flatMap((entry: unknown) => {
    if (typeof entry !== "object" || entry === null || !("question" in entry) || typeof entry.question !== "string")
      return [];
    const options = "options" in entry && Array.isArray(entry.options) ? entry.options : [];
    const labels = options.flatMap((option: unknown) =>
      typeof option === "object" && option !== null && "label" in option && typeof option.label === "string"
        ? [option.label]
        : [],
    );
    return [{ question: entry.question, labels, multiSelect: "multiSelect" in entry && entry.multiSelect === true }];
  });
}

function fit(question: Question, value: string): string {
  const exact = (text: string): string =>
    question.labels.find((label) => label.toLowerCase() === text.trim().toLowerCase()) ?? text.trim();
  const whole = exact(value);
  if (question.labels.includes(whole) || !question.multiSelect) return whole;
  return value.split(",").map(exact).join(", ");
}

function choices(question: Question): string {
  return question.labels.length > 0 ? `${question.labels.join(" | ")} | your own words` : "your own words";
}
