/** Redirections: what they read and write goes through path policy; here-documents and strings become standard input. */
import type { Redirect, Redirection, Word } from "unbash";
import { judgePath } from "../paths/access.ts";
import { type Flow, fixedText, NOTHING_KNOWN } from "./flow.ts";
import { ENVIRONMENT, hasMark } from "./marks.ts";
import type { ShellState } from "./state.ts";
import type { Walker } from "./walker.ts";
import { expandHereDocument, expandSingle } from "./words.ts";

export interface Redirected {
  /** What the command reads, after its redirections. */
  stdin: Flow | undefined;
  /** Its standard output goes to a file or nowhere, not into the pipe. */
  captured: boolean;
}

export function judgeRedirections(
  redirections: readonly Redirection[],
  state: ShellState,
  walker: Walker,
  stdin: Flow | undefined,
): Redirected {
  const result: Redirected = { stdin, captured: false };
  for (const redirection of redirections) {
    switch (redirection.type) {
      case "HereDoc":
        result.stdin = hereDocument(redirection, state, walker);
        break;
      case "HereString": {
        const value = redirection.target === undefined ? "" : expandSingle(redirection.target, state, walker).value;
        judgeText(value, walker);
        result.stdin = textFlow(`${value}\n`);
        break;
      }
      case "Redirect":
        file(redirection, state, walker, result);
        break;
    }
  }
  return result;
}

function hereDocument(redirection: Extract<Redirection, { type: "HereDoc" }>, state: ShellState, walker: Walker): Flow {
  if (redirection.closing === undefined) {
    walker.gate.report.review("parse.error", "A here-document has no end line.", redirection.delimiter?.text ?? "<<");
  }
  const text = expandHereDocument(redirection.body, state, walker);
  judgeText(text, walker);
  return textFlow(text);
}

function judgeText(text: string, walker: Walker): void {
  if (text.includes(ENVIRONMENT)) {
    walker.gate.report.review(
      "words.environment",
      "It shows a variable of the environment, which may hold a secret.",
      "here-document",
    );
  }
}

/** Text with marks is kept: deny rules still see what is fixed in it. */
export function textFlow(text: string): Flow {
  return { ...fixedText(text), network: text.includes("\uE003") };
}

function file(redirect: Redirect, state: ShellState, walker: Walker, result: Redirected): void {
  const { report } = walker.gate;
  const { operator, target, descriptor } = redirect;
  if (descriptor?.type === "FileDescriptorVariable") {
    report.review(
      "redirect.descriptor",
      "A redirection into a variable descriptor.",
      `{${descriptor.name}}${operator}`,
    );
  }
  if (target === undefined) {
    report.review("parse.error", "A redirection has no target.", operator);
    return;
  }
  if (operator === "<") {
    const stream = processStream(target, state, walker);
    if (stream !== undefined) {
      result.stdin = stream;
      return;
    }
  }
  const { value, glob } = expandSingle(target, state, walker);
  if (value.startsWith("!") || value.startsWith("|")) {
    report.review("words.other-shell", "zsh reads this redirection differently.", `${operator}${target.text}`);
  }
  if ((operator === ">&" || operator === "<&") && /^(?:\d+-?|-)$/.test(value)) {
    if (operator === ">&" && isOutput(descriptor) && value !== "1") result.captured = true;
    return;
  }
  if (operator === "<&") {
    report.review("redirect.descriptor", "A descriptor that an expansion decides.", target.text);
    return;
  }
  if (operator === "<>") report.review("redirect.read-write", "It opens a file for reading and writing.", target.text);
  if (operator === "<") {
    result.stdin = NOTHING_KNOWN;
    judgePath(walker.gate, state.folders, { value, glob, access: "read" });
    return;
  }
  if (operator !== "<>" && isOutput(descriptor)) result.captured = true;
  if (hasMark(value) && isProcessStream(target)) return;
  judgePath(walker.gate, state.folders, { value, glob, access: "redirect" });
}

/** `< <(command)`: what the command prints comes in. */
function processStream(target: Word, state: ShellState, walker: Walker): Flow | undefined {
  const part = target.parts?.length === 1 ? target.parts[0] : undefined;
  if (part?.type !== "ProcessSubstitution" || part.operator !== "<") return undefined;
  return walker.nested(part.script, state.clone());
}

function isProcessStream(target: Word): boolean {
  return target.parts?.length === 1 && target.parts[0]?.type === "ProcessSubstitution";
}

function isOutput(descriptor: Redirect["descriptor"]): boolean {
  return descriptor === undefined || (descriptor.type === "FileDescriptor" && descriptor.value === 1);
}
