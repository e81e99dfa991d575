/** The frozen verification commands: exactly their words, in the workspace, nothing assigned in front, nothing they name changed. */
import { parse } from "unbash";
import type { PolicyContext } from "../core/contracts/policy.ts";
import type { Gate } from "./gate.ts";
import { isInside, join, normalise } from "./paths/text.ts";
import { definitionFiles } from "./runners/definitions.ts";
import type { InvokeOptions } from "./shell/invoke.ts";
import type { Arg } from "./shell/words.ts";

interface Frozen {
  /** Word lists of the commands that are one simple command of fixed words. */
  vectors: readonly (readonly string[])[];
  /** The others, as text: they run through a shell. */
  texts: readonly string[];
}

const CACHE = new WeakMap<PolicyContext, Frozen>();

export function frozenMatch(argv: readonly Arg[], options: InvokeOptions): boolean {
  const { gate } = options.walker;
  if (gate.context.frozenVerify.length === 0) return false;
  if (options.assigned.length > 0 || !standsInWorkspace(options.state.folders, gate.context)) return false;
  for (const vector of frozenOf(gate.context).vectors) {
    if (vector.length === argv.length && argv.every((arg, index) => !arg.glob && arg.value === vector[index])) {
      return !definitionChanged(vector, gate);
    }
  }
  return false;
}

/** Whether the whole call is a frozen command that only a shell can run, such as `npm run build && npm test`. */
export function isFrozenText(command: string, folder: string, gate: Gate): boolean {
  if (gate.context.frozenVerify.length === 0 || folder !== gate.context.workspace) return false;
  const { texts } = frozenOf(gate.context);
  if (!texts.includes(command.trim())) return false;
  return (
    !command.split(/[\s;|&<>()"'`]+/).some((word) => word !== "" && wordChanged(word, gate)) &&
    !definitionChanged(command.split(/\s+/), gate)
  );
}

function standsInWorkspace(folders: readonly string[], context: PolicyContext): boolean {
  return folders.length === 1 && folders[0] === context.workspace;
}

function frozenOf(context: PolicyContext): Frozen {
  const known = CACHE.get(context);
  if (known !== undefined) return known;
  const vectors: string[][] = [];
  const texts: string[] = [];
  for (const text of context.frozenVerify) {
    const vector = simpleVector(text);
    if (vector === undefined) texts.push(text.trim());
    else vectors.push(vector);
  }
  const frozen = { vectors, texts };
  CACHE.set(context, frozen);
  return frozen;
}

function simpleVector(text: string): string[] | undefined {
  const script = parse(text);
  const [statement] = script.commands;
  if (
    script.errors !== undefined ||
    script.commands.length !== 1 ||
    statement === undefined ||
    statement.background === true
  )
    return undefined;
  const { command } = statement;
  if (command.type !== "Command" || command.name === undefined || command.prefix.length > 0) return undefined;
  const vector: string[] = [];
  for (const word of [command.name, ...command.suffix]) {
    if (word.type !== "Word" || word.text.startsWith("~")) return undefined;
    if (
      word.parts?.some((part) => part.type !== "Literal" && part.type !== "SingleQuoted" && !isFixedQuote(part)) ===
      true
    )
      return undefined;
    vector.push(word.value);
  }
  return vector;
}

function isFixedQuote(part: { type: string; parts?: readonly { type: string }[] | undefined }): boolean {
  return part.type === "DoubleQuoted" && (part.parts ?? []).every((inner) => inner.type === "Literal");
}

function definitionChanged(vector: readonly string[], gate: Gate): boolean {
  if (vector.some((word) => wordChanged(word, gate))) return true;
  const head = vector[0] ?? "";
  return definitionFiles(head, gate.context.workspace).some((file) => gate.facts.changedByTask(file));
}

function wordChanged(word: string, gate: Gate): boolean {
  for (const value of [word, word.slice(word.indexOf("=") + 1)]) {
    if (value === "" || value.startsWith("-")) continue;
    const path = normalise(join(gate.context.workspace, value));
    if (isInside(path, gate.context.workspace) && gate.facts.changedByTask(path)) return true;
  }
  return false;
}
