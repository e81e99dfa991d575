/** Turns parsed words into the arguments a program would get, as far as that is known without running anything. */
import type { HereDocBody, Script, Word, WordPart } from "unbash";
import type { Gate } from "../gate.ts";
import { expandBraces } from "./braces.ts";
import { beginsWithLookAlikeDash } from "./characters.ts";
import type { Flow } from "./flow.ts";
import { hasMark, NETWORK, UNKNOWN } from "./marks.ts";
import { type Expanded, parameterValue, simpleValue } from "./parameters.ts";
import type { ShellState } from "./state.ts";
import { SOME_FILE, substituted } from "./substitution.ts";

/** One argument. */
export interface Arg {
  /** Its value with marks (see marks.ts) for unknown pieces. */
  readonly value: string;
  /** As written. */
  readonly raw: string;
  /** Unquoted wildcards: stands for whatever matches. */
  readonly glob: boolean;
  /** Written plainly: no quotes, escapes, expansions or wildcards. */
  readonly plain: boolean;
}

/** What expansion needs of its surroundings; implemented by the walker. */
export interface Surroundings {
  readonly gate: Gate;
  /** Judges a nested script and tells what it prints. */
  nested(script: Script | undefined, state: ShellState): Flow;
  /** Judges an arithmetic expression. */
  arithmetic(part: WordPart, state: ShellState): void;
  /** Scripts of `>(...)` in the present command: they read what it prints or passes on. */
  readonly outputs: Script[];
  /** A variable's value was used. */
  used(name: string): void;
}

const MAX_ALTERNATIVES = 64;
/** Characters that expansions may add to one word: doubling a variable again and again must not grow without bound. */
const MAX_EXPANDED = 16_384;

export function expandWord(word: Word, state: ShellState, around: Surroundings, out: Arg[]): void {
  const parts = word.parts;
  if (parts === undefined) {
    const value = word.text.charCodeAt(0) === 126 ? tilde(word.value, state, around) : word.value;
    checkOddities(word, around);
    out.push({ value, raw: word.text, glob: false, plain: word.value === word.text });
    return;
  }
  checkOddities(word, around);
  const expansion = expandParts(parts, state, around, word.text.charCodeAt(0) === 126, true);
  if (parts.length === 1 && isBareExpansion(parts[0])) {
    splitFields(word, expansion, out);
    return;
  }
  for (const value of expansion.values) out.push({ value, raw: word.text, glob: expansion.glob, plain: false });
}

/** The value of a word that is neither split nor brace-expanded: assignments, redirection targets, here-strings. */
export function expandSingle(word: Word, state: ShellState, around: Surroundings): Expanded {
  const parts = word.parts;
  if (parts === undefined) {
    return { value: word.text.charCodeAt(0) === 126 ? tilde(word.value, state, around) : word.value, glob: false };
  }
  const expansion = expandParts(parts, state, around, word.text.charCodeAt(0) === 126, false);
  return { value: expansion.values[0] ?? "", glob: expansion.glob };
}

export function expandHereDocument(body: HereDocBody, state: ShellState, around: Surroundings): string {
  const parts = body.parts;
  if (parts === undefined) return body.text;
  return expandParts(parts, state, around, false, false).values[0] ?? "";
}

interface Expansion {
  values: string[];
  glob: boolean;
  /** Too many alternatives: further braces are not tried. */
  closed?: boolean;
}

function expandParts(
  parts: readonly WordPart[],
  state: ShellState,
  around: Surroundings,
  leadingTilde: boolean,
  braces: boolean,
): Expansion {
  const expansion: Expansion = { values: [""], glob: false };
  let first = true;
  for (const part of parts) {
    append(part, expansion, state, around, braces, false);
    if (first && leadingTilde) expansion.values = expansion.values.map((value) => tilde(value, state, around));
    first = false;
  }
  return expansion;
}

function append(
  part: WordPart,
  to: Expansion,
  state: ShellState,
  around: Surroundings,
  braces: boolean,
  quoted: boolean,
): void {
  switch (part.type) {
    case "Literal":
    case "SingleQuoted":
    case "AnsiCQuoted":
      add(to, part.value);
      return;
    case "DoubleQuoted":
    case "LocaleString":
      for (const inner of part.parts) append(inner, to, state, around, false, true);
      return;
    case "Glob":
      to.glob = true;
      for (const inner of part.parts ?? []) append(inner, { values: [""], glob: false }, state, around, false, quoted);
      {
        add(to, part.value);
        return;
      }
    case "ExtendedGlob":
      around.gate.report.review("words.other-shell", "A pattern with parentheses can run code in zsh.", part.text);
      to.glob = true;
      for (const inner of part.parts ?? []) append(inner, { values: [""], glob: false }, state, around, false, quoted);
      {
        add(to, "*");
        return;
      }
    case "SimpleExpansion":
      addExpanded(to, simpleValue(part.text, state, around), quoted);
      return;
    case "ParameterExpansion":
      addExpanded(to, parameterValue(part, state, around), quoted);
      return;
    case "CommandExpansion": {
      const value = substituted(part, state, around);
      if (value === SOME_FILE) to.glob = true;
      add(to, value);
      return;
    }
    case "ProcessSubstitution": {
      if (part.operator === ">" && part.script !== undefined) around.outputs.push(part.script);
      const flow = around.nested(part.script, state);
      add(to, flow.network ? NETWORK_STREAM : PROCESS_STREAM);
      return;
    }
    case "ArithmeticExpansion":
      around.arithmetic(part, state);
      {
        add(to, "\uE001");
        return;
      }
    case "BraceExpansion": {
      for (const inner of part.parts ?? []) append(inner, { values: [""], glob: false }, state, around, false, quoted);
      if (!braces) {
        add(to, UNKNOWN);
        return;
      }
      const alternatives = to.closed === true ? undefined : expandBraces(part.text);
      if (alternatives === undefined || alternatives.length * to.values.length > MAX_ALTERNATIVES) {
        to.closed = true;
        const [value = ""] = to.values;
        to.values = [value.endsWith(UNKNOWN) ? value : value + UNKNOWN];
        return;
      }
      if (/[*?[]/.test(part.text)) to.glob = true;
      to.values = to.values.flatMap((value) => alternatives.map((alternative) => value + alternative));
      return;
    }
  }
}

/** `/dev/fd/N`: reads what the process prints. */
export const PROCESS_STREAM = "/dev/fd/\uE001";
export const NETWORK_STREAM = "/dev/fd/\uE003";

function add(to: Expansion, text: string): void {
  const values = to.values;
  if (values.length === 1) values[0] = (values[0] ?? "") + text;
  else to.values = values.map((value) => value + text);
}

function addExpanded(to: Expansion, expanded: Expanded, quoted: boolean): void {
  // Quotes do not matter here: a value such as `src/*.ts` stands for "one of these files", from a loop or a pipe.
  if (expanded.glob && (!quoted || /[*?[]/.test(expanded.value))) to.glob ||= /[*?[\uE000-\uE003]/.test(expanded.value);
  const length = to.values[0]?.length ?? 0;
  if (length > MAX_EXPANDED && expanded.value.length > 1) collapse(to, expanded.value);
  else add(to, expanded.value);
}

/** Gives up on the value; that it came from the network is kept. */
function collapse(to: Expansion, added: string): void {
  const network = added.includes(NETWORK) || to.values.some((value) => value.includes(NETWORK));
  to.values = [network ? NETWORK : UNKNOWN];
}

function isBareExpansion(part: WordPart | undefined): boolean {
  return part?.type === "SimpleExpansion" || part?.type === "ParameterExpansion" || part?.type === "CommandExpansion";
}

/** An unquoted expansion is split at blanks, and vanishes when it is empty. */
function splitFields(word: Word, expansion: Expansion, out: Arg[]): void {
  const value = expansion.values[0] ?? "";
  if (!/[ \t\n]/.test(value)) {
    if (value !== "") out.push({ value, raw: word.text, glob: expansion.glob, plain: false });
    return;
  }
  for (const field of value.split(/[ \t\n]+/)) {
    if (field !== "") out.push({ value: field, raw: word.text, glob: expansion.glob, plain: false });
  }
}

/** `~`, `~/x`, `~name/x`, `~+`. */
function tilde(value: string, state: ShellState, around: Surroundings): string {
  if (value.charCodeAt(0) !== 126) return value;
  const slash = value.indexOf("/");
  const name = slash < 0 ? value.slice(1) : value.slice(1, slash);
  const rest = slash < 0 ? "" : value.slice(slash);
  if (name === "") return around.gate.context.home + rest;
  if (name === "+") return (state.folders.length === 1 ? (state.folders[0] ?? UNKNOWN) : UNKNOWN) + rest;
  if (name === "root") return `/root${rest}`;
  if (/^[a-z_][a-z0-9_-]*$/i.test(name)) return `/home/${name}${rest}`;
  return name === "-" || hasMark(name) ? UNKNOWN + rest : value;
}

/** Forms that another shell reads differently, and words shaped like paths of another system. */
function checkOddities(word: Word, around: Surroundings): void {
  const text = word.text;
  const code = text.charCodeAt(0);
  if (beginsWithLookAlikeDash(word.value)) {
    around.gate.report.review("characters.dash", "A word begins with a character that only looks like a dash.", text);
  }
  if (code === 61 && text.length > 1 && /^=[A-Za-z_./~$]/.test(text)) {
    around.gate.report.review("words.other-shell", "zsh would replace `=name` by the path of a program.", text);
  } else if (code === 92 || (code === 39 && text.charCodeAt(1) === 92) || (code === 34 && text.charCodeAt(1) === 92)) {
    if (isNetworkPath(text))
      around.gate.report.review("words.windows-path", "The word is shaped like a Windows or UNC path.", text);
  } else if (text.charCodeAt(1) === 58 || text.charCodeAt(2) === 58) {
    if (/^["']?[A-Za-z]:[\\/][^\s/]/.test(text)) {
      around.gate.report.review("words.windows-path", "The word is shaped like a Windows or UNC path.", text);
    }
  }
  if (text.includes("$=") || text.includes("$~") || text.includes("$^")) {
    if (word.parts === undefined || word.parts.some((part) => part.type === "Literal" && /\$[=~^]\w/.test(part.text))) {
      around.gate.report.review("words.other-shell", "zsh reads this expansion differently.", text);
    }
  }
}

function isNetworkPath(text: string): boolean {
  return (
    /^["']?\\\\[\w?.-]+\\[\w.]/.test(text) ||
    /^["']?\\{1,2}\\?[?.]{1,2}\\/.test(text) ||
    /^\\\\\\\\[\w.-]+\\\\/.test(text)
  );
}
