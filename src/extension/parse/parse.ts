/** What a person typed after `/supervise`, understood or refused with the sentence that helps. Pure. */
import { type Failure, failure } from "../../core/result.ts";
import { nearest } from "./nearest.ts";
import {
  type CommandName,
  type CommandSpec,
  commandNames,
  commonFlags,
  type FlagSpec,
  type FlagsOf,
  isCommand,
  specOf,
  usageOf,
} from "./spec.ts";
import { parseAmount, parseCount, parseDuration } from "./values.ts";
import { splitWords, textOf, type Word } from "./words.ts";

/** One call of one subcommand. */
export interface Call<N extends CommandName = CommandName> {
  ok: true;
  command: N;
  /** The arguments in the order of the spec; a missing optional one is absent. */
  args: string[];
  /** The free text (goal, message, reason), "" when none was given. */
  rest: string;
  flags: FlagsOf<N>;
  json: boolean;
}

export interface BadCall extends Failure {
  /** The first word, or "help" when there is none. */
  command: string;
  json: boolean;
}

type AnyFlags = Record<string, string | number | true | string[]>;

/** Reads the whole argument text. Reasons: `unknown-command`, `unknown-flag`, `missing-argument`, `bad-value`, … */
export function parseCall(input: string): Call | BadCall {
  const split = splitWords(input);
  if (!split.ok) {
    const [command = "help"] = input.trim().split(/\s+/, 1);
    return { ...split, command, json: /(^|\s)--json(\s|$)/.test(input) };
  }
  const json = split.words.some((word) => isFlag(word) && word.text === "--json");
  const begin = split.words.findIndex((word) => !isFlag(word) || word.text !== "--json");
  const [first, ...others] = begin < 0 ? [] : split.words.slice(begin);
  if (first === undefined) return { ok: true, command: "help", args: [], rest: "", flags: {}, json };
  const name = first.text;
  const bad = (reason: string, message: string): BadCall => ({ ...failure(reason, message), command: name, json });
  if (!isCommand(name)) return unknownCommand(name, bad);

  const at = others.findIndex(isFlag);
  const before = at < 0 ? others : others.slice(0, at);
  const read = readFlags(name, at < 0 ? [] : others.slice(at), bad);
  if (!read.ok) return read;
  const spec = specOf(name);
  const plain = [...before, ...read.plain];
  const args = readArgs(name, spec, plain, bad);
  if (!args.ok) return args;
  const rest = textOf(input, plain.slice(args.args.length)).trim();
  if (spec.rest === undefined && plain.length > args.args.length)
    return bad(
      "unexpected-word",
      `"${bounded(plain[args.args.length]?.text ?? "")}" is one word too many. ${usage(name)}`,
    );
  const spared = spec.rest?.optional === true || (spec.rest?.unless !== undefined && spec.rest.unless in read.flags);
  if (spec.rest !== undefined && !spared && rest === "")
    return bad("missing-argument", `${capital(name)} needs the ${spec.rest.name}. ${usage(name)}`);
  const { json: _json, ...flags } = read.flags;
  return { ok: true, command: name, args: args.args, rest, flags: flags as FlagsOf<CommandName>, json };
}

type Bad = (reason: string, message: string) => BadCall;

function unknownCommand(name: string, bad: Bad): BadCall {
  const meant = commandNames.find((command) => command === nearest(name, commandNames));
  const hint = meant === undefined ? "/supervise help shows all commands." : `Did you mean "${meant}"? ${usage(meant)}`;
  return bad("unknown-command", `There is no command "${bounded(name)}". ${hint}`);
}

function readArgs(
  name: CommandName,
  spec: CommandSpec,
  plain: readonly Word[],
  bad: Bad,
): { ok: true; args: string[] } | BadCall {
  const args: string[] = [];
  for (const [index, arg] of spec.args.entries()) {
    const word = plain[index];
    if (word === undefined || word.text === "") {
      if (arg.optional) break;
      return bad("missing-argument", `${capital(name)} needs ${arg.name}. ${usage(name)}`);
    }
    if (arg.choices !== undefined && !arg.choices.includes(word.text)) {
      const meant = nearest(word.text, arg.choices);
      const hint = meant === undefined ? "" : ` Did you mean "${meant}"?`;
      return bad("bad-value", `"${bounded(word.text)}" is none of ${arg.choices.join(", ")}.${hint} ${usage(name)}`);
    }
    args.push(word.text);
  }
  return { ok: true, args };
}

/** `plain` are words between and after the flags: arguments of a command that takes no free text. */
function readFlags(
  name: CommandName,
  words: readonly Word[],
  bad: Bad,
): { ok: true; flags: AnyFlags; plain: Word[] } | BadCall {
  const known: Readonly<Record<string, FlagSpec>> = { ...specOf(name).flags, ...commonFlags };
  const flags: AnyFlags = {};
  const plain: Word[] = [];
  for (let at = 0; at < words.length; at++) {
    const word = words[at] as Word;
    if (!isFlag(word)) {
      if (specOf(name).rest !== undefined) return bad("unexpected-word", wordAfterFlag(name, word));
      plain.push(word);
      continue;
    }
    const equals = word.text.indexOf("=");
    const flag = word.text.slice(2, equals < 0 ? undefined : equals);
    const spec = Object.hasOwn(known, flag) ? known[flag] : undefined;
    if (spec === undefined) return unknownFlag(name, flag, known, bad);
    if (spec.kind === "switch") {
      if (equals >= 0) return bad("bad-value", `--${flag} takes no value. ${usage(name)}`);
      flags[flag] = true;
      continue;
    }
    let value = word.text.slice(equals + 1);
    if (equals < 0) {
      const next = words[at + 1];
      if (next === undefined || isFlag(next)) return bad("missing-value", `--${flag} needs a value. ${usage(name)}`);
      value = next.text;
      at++;
    }
    const read = readValue(spec, value);
    if (!read.ok) return bad(read.reason, `--${flag}: ${read.message}`);
    if (spec.kind === "texts") flags[flag] = [...((flags[flag] as string[] | undefined) ?? []), value];
    else if (flag in flags) return bad("given-twice", `--${flag} was given twice; once is enough. ${usage(name)}`);
    else flags[flag] = read.value;
  }
  return { ok: true, flags, plain };
}

function wordAfterFlag(name: CommandName, word: Word): string {
  const text = specOf(name).rest?.name ?? "text";
  return `"${bounded(word.text)}" stands after a flag: the ${text} comes before the first flag, and a value of several words goes in "quotes". ${usage(name)}`;
}

function unknownFlag(name: CommandName, flag: string, known: Readonly<Record<string, FlagSpec>>, bad: Bad): BadCall {
  const meant = nearest(flag, Object.keys(known));
  const hint = meant === undefined ? usage(name) : `Did you mean --${meant}?`;
  const quote = specOf(name).rest === undefined ? "" : ` A word of the text that begins with -- goes in "quotes".`;
  return bad("unknown-flag", `${capital(name)} has no flag --${bounded(flag)}. ${hint}${quote}`);
}

function readValue(
  spec: Exclude<FlagSpec, { kind: "switch" }>,
  value: string,
): { ok: true; value: string | number } | Failure {
  switch (spec.kind) {
    case "text":
    case "texts":
      return value.trim() === "" ? failure("bad-value", "the value is empty.") : { ok: true, value };
    case "choice": {
      if (spec.choices.includes(value)) return { ok: true, value };
      const meant = nearest(value, spec.choices);
      const hint = meant === undefined ? "" : ` Did you mean "${meant}"?`;
      return failure("bad-value", `"${bounded(value)}" is none of ${spec.choices.join(", ")}.${hint}`);
    }
    case "count": {
      const read = parseCount(value, spec.min);
      return read.ok ? { ok: true, value: read.count } : read;
    }
    case "amount": {
      const read = parseAmount(value);
      return read.ok ? { ok: true, value: read.amount } : read;
    }
    case "duration": {
      const read = parseDuration(value);
      return read.ok ? { ok: true, value: read.ms } : read;
    }
  }
}

/** An unquoted `--name` is a flag; a bare `--` is a dash. */
function isFlag(word: Word): boolean {
  return !word.quoted && word.text.startsWith("--") && word.text.length > 2;
}

function usage(name: CommandName): string {
  return `Usage: ${usageOf(name)}`;
}

function bounded(text: string): string {
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
