/** A tool call in words: what it is about, and its input as bounded text. */

import { cut } from "../core/text.ts";

/** Characters of an input, of a preview and of any other text that is kept of one event. */
const MAX_TEXT = 4_000;
const MAX_SUBJECT = 300;

const SUBJECTS = [
  "command",
  "pattern",
  "file_path",
  "path",
  "notebook_path",
  "url",
  "query",
  "description",
  "prompt",
  "plan",
] as const;

/**
 * The command, file, address or question of a call; the start of its input where there is none of these. Files of the
 * workspace are named as seen from there.
 */
export function subjectOf(input: unknown, cwd: string): string {
  if (!isRecord(input)) return cut(json(input), MAX_SUBJECT);
  for (const key of SUBJECTS) {
    const value = input[key];
    if (typeof value !== "string" || value === "") continue;
    const inside = key.endsWith("path") && cwd !== "" && value.startsWith(`${cwd}/`);
    return cut(inside ? value.slice(cwd.length + 1) : value, MAX_SUBJECT);
  }
  const [question] = Array.isArray(input["questions"]) ? input["questions"] : [];
  if (isRecord(question) && typeof question["question"] === "string") return cut(question["question"], MAX_SUBJECT);
  return cut(json(input), MAX_SUBJECT);
}

/** The whole input as text: the command itself where that is all there is. */
export function inputText(input: unknown): string {
  if (isRecord(input)) {
    const { command, description: _said, ...rest } = input;
    if (typeof command === "string" && Object.keys(rest).length === 0) return bounded(command);
  }
  return bounded(json(input, 2));
}

/** A text with a bound; what was cut is counted. */
export function bounded(text: string, max = MAX_TEXT): string {
  return text.length > max ? `${text.slice(0, max)}\n[${text.length - max} more characters in the log]` : text;
}

function json(value: unknown, indent?: number): string {
  return JSON.stringify(value, null, indent) ?? "";
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
