/** One spelling for the same ask, so that a repeat is seen: tool, whole input, folder; only blanks and quoting are evened out. */
import { type AndOr, forEachChild, parse, type SyntaxNode, type Word } from "unbash";
import type { ToolCall } from "../core/contracts/policy.ts";

/** Equal strings mean the same ask. At most as long as the input plus quotes. Never throws. */
export function normalizeAsk(call: ToolCall): string {
  return stable({ tool: call.toolName, cwd: call.cwd, input: normalInput(call) });
}

function normalInput(call: ToolCall): unknown {
  const { input } = call;
  if (call.toolName !== "Bash" || typeof input !== "object" || input === null) return input;
  const command: unknown = (input as Record<string, unknown>).command;
  if (typeof command !== "string") return input;
  return { ...input, command: normalCommand(command) };
}

/** Fixed words are quoted one way, blanks between words become one; a command that does not parse stays as it is. */
function normalCommand(command: string): string {
  try {
    const script = parse(command);
    if (script.errors !== undefined) return command.trim();
    const words: Word[] = [];
    collect(script, words);
    words.sort((a, b) => a.pos - b.pos);
    let out = "";
    let at = 0;
    for (const word of words) {
      if (word.pos < at) continue;
      out += blanks(command.slice(at, word.pos)) + quoted(word);
      at = word.end;
    }
    return (out + blanks(command.slice(at))).trim();
  } catch (error) {
    if (error instanceof RangeError) return command.trim();
    throw error;
  }
}

/** Words of the top level only: positions inside here-documents and substitutions stay untouched. */
function collect(node: SyntaxNode | AndOr, words: Word[]): void {
  if (node.type === "Word") {
    words.push(node);
    return;
  }
  if (node.type === "HereDoc" || node.type === "Assignment") return;
  forEachChild(node, (child) => collect(child, words));
}

function quoted(word: Word): string {
  const fixed =
    word.parts === undefined ||
    word.parts.every(
      (part) =>
        part.type === "SingleQuoted" ||
        part.type === "AnsiCQuoted" ||
        part.type === "Literal" ||
        (part.type === "DoubleQuoted" && part.parts.every((inner) => inner.type === "Literal")),
    );
  if (!fixed || word.text.startsWith("~")) return word.text;
  return /^[\w@%+=:,./-]+$/.test(word.value) ? word.value : `'${word.value.replaceAll("'", "'\\''")}'`;
}

function blanks(gap: string): string {
  return gap.includes("\n") ? gap : gap.replace(/[ \t]+/g, " ");
}

/** JSON with the fields of every object in one order. What no tool input holds (a BigInt, a cycle) counts as null. */
function stable(value: unknown, depth = 0): string {
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value !== "object" || value === null)
    return typeof value === "bigint" ? "null" : `${JSON.stringify(value)}`;
  if (depth >= MAX_DEPTH) return "null";
  if (Array.isArray(value)) return `[${value.map((inner) => stable(inner, depth + 1)).join(",")}]`;
  const fields = Object.keys(value).sort();
  const record = value as Record<string, unknown>;
  return `{${fields.map((name) => `${JSON.stringify(name)}:${stable(record[name], depth + 1)}`).join(",")}}`;
}

/** The worker's adapter lets no deeper input through. */
const MAX_DEPTH = 256;
