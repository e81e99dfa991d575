/**
 * What Pi's own agent may not do to the emergency stop: lift it, set up the shared folder, or write in the folders that
 * it lives in. A filter of mistakes, and it says so: a program that wants around it gets around it. Where it cannot
 * decide and the stop is named, it refuses.
 */
import { dirname, isAbsolute, join, resolve } from "node:path";
import { isInside } from "../platform/paths.ts";
import { type SimpleCommand, simpleCommands, type Word } from "./shell-words.ts";

export interface GuardedPlaces {
  /** Absolute: state folder, control folder, socket folder, shared stop and page folders, settings folder. */
  roots: readonly string[];
  cwd: string;
  home: string;
  /** Where a path really leads; default: what its text says. Must not throw. */
  realPath?: (path: string) => string;
}

export type ToolVerdict = { block: false } | { block: true; reason: string };

const ALLOW: ToolVerdict = { block: false };
const MOST_COMMAND = 64 * 1024;
const MOST_NESTING = 4;
const READING_TOOLS = new Set(["read", "grep", "find", "ls", "glob", "search"]);
const WRITING_TOOLS = new Set(["write", "edit", "multiedit", "multi_edit", "create", "apply_patch", "notebookedit"]);
const COMMAND_TOOLS = new Set(["bash", "shell", "exec", "run", "terminal", "process", "command"]);
const COMMAND_NAME = /pi-claude-supervisor-control|\bcli\/control(?:\.js|\/)/;
const PERSON_VERBS = new Set(["resume", "shared-folder", "shared-stop", "shared-lift"]);
const OPEN_VERBS = new Set(["status", "stop", "pause", "drill", "help", "--help", "-h", "shared-page"]);
/** Names that only the stop's files have. */
const TELLING = /\bSTOP-ALL\b|\bepoch-floor\b|pi-claude-supervisor-stop-\d|\bshared-folder\.json\b/;
const WRAPPERS = new Set([
  "sudo",
  "env",
  "command",
  "builtin",
  "nice",
  "nohup",
  "time",
  "exec",
  "doas",
  "stdbuf",
  "setsid",
]);
const READERS = new Set(
  "cat head tail less more ls stat file wc grep egrep fgrep rg du df tree realpath readlink basename dirname echo printf test [ [[ diff cmp sha256sum md5sum shasum jq cd pwd which type find sed sort cut tr xxd hexdump od strings man true false".split(
    " ",
  ),
);
/** Programs that change a whole tree when they are given a folder above. */
const TREE_CHANGERS = new Set(
  "rm mv chmod chown chgrp rsync find rmdir shred unlink trash setfacl chattr ln".split(" "),
);

/** The answer for Pi's `tool_call` hook. Pure, and never throws: a fault inside refuses. */
export function guardToolCall(call: { toolName: string; input: unknown }, places: GuardedPlaces): ToolVerdict {
  try {
    return judge(call.toolName.toLowerCase(), call.input, places);
  } catch {
    return block("The call could not be understood");
  }
}

function judge(tool: string, input: unknown, places: GuardedPlaces): ToolVerdict {
  if (READING_TOOLS.has(tool)) return ALLOW;
  if (COMMAND_TOOLS.has(tool)) {
    const command = fieldOf(input, ["command", "cmd", "script"]);
    return command === undefined ? block("A command is missing") : judgeCommand(command, places, 0);
  }
  if (WRITING_TOOLS.has(tool)) {
    const path = fieldOf(input, ["path", "file_path", "filePath", "notebook_path"]);
    if (path !== undefined) return reaches(path, places) === "inside" ? block(`${path} belongs to the stop`) : ALLOW;
  }
  // Of other tools it is not known what they do with a text.
  const named = textsOf(input).find((text) => mentions(text, places) || COMMAND_NAME.test(text));
  return named === undefined ? ALLOW : block("A tool that is not known here names the emergency stop");
}

function judgeCommand(line: string, places: GuardedPlaces, depth: number): ToolVerdict {
  if (line.length > MOST_COMMAND || depth > MOST_NESTING) return block("The command is too long to be checked");
  let cwd: string | undefined = places.cwd;
  for (const command of simpleCommands(line)) {
    const program = programOf(command);
    const here: GuardedPlaces = cwd === undefined ? { ...places, cwd: "/nowhere" } : { ...places, cwd };
    const verdict = judgeSimple(command, program, here, depth, cwd === undefined);
    if (verdict.block) return verdict;
    if (program.name === "cd") {
      const to = command[program.at + 1];
      cwd =
        to === undefined
          ? places.home
          : to.dynamic || cwd === undefined
            ? undefined
            : resolve(cwd, expand(to.text, places));
    }
  }
  return ALLOW;
}

function judgeSimple(
  command: SimpleCommand,
  program: { name: string; at: number },
  places: GuardedPlaces,
  depth: number,
  isLost: boolean,
): ToolVerdict {
  const isReader = READERS.has(program.name) && !writesAnyway(program.name, command);
  for (const word of command) {
    const place = reaches(word.text, places);
    if (word.target && place === "inside") return block(`${word.text} belongs to the stop`);
    // Inside double quotes the shell still runs what stands in `$(…)` or backticks.
    for (const inner of word.dynamic ? substitutions(word.text) : []) {
      const verdict = judgeCommand(inner, places, depth + 1);
      if (verdict.block) return verdict;
    }
    if (isReader && !word.target) continue;
    if (place === "inside" || mentions(word.text, places))
      return block(`${word.text.slice(0, 200)} belongs to the stop`);
    if (isLost && TELLING.test(word.text)) return block(`${word.text.slice(0, 200)} belongs to the stop`);
    if (place === "above" && TREE_CHANGERS.has(program.name)) {
      return block(`${word.text} holds the folders of the stop`);
    }
    // A command inside a word: `bash -c "…"`, `script -c "…"`, `eval "…"`.
    if (/\s/.test(word.text) && COMMAND_NAME.test(word.text)) {
      const inner = judgeCommand(word.text, places, depth + 1);
      if (inner.block) return inner;
    }
  }
  return isReader ? ALLOW : judgeControl(command);
}

function substitutions(text: string): string[] {
  return [...text.matchAll(/\$\(|`/g)].map((match) => text.slice(match.index + match[0].length));
}

/** The stop's own command: asking and stopping are for everybody, lifting is a person's. */
function judgeControl(command: SimpleCommand): ToolVerdict {
  const at = command.findIndex((word) => COMMAND_NAME.test(word.text) && !/\s/.test(word.text));
  const isScript = command.some((word) => word.text === "npm" || word.text === "pnpm" || word.text === "yarn");
  const scriptAt = isScript ? command.findIndex((word) => word.text === "control") : -1;
  const from = at >= 0 ? at : scriptAt;
  if (from < 0) return ALLOW;
  const words = command.slice(from + 1);
  const verb = words.find((word) => PERSON_VERBS.has(word.text));
  if (verb !== undefined) return block(`${verb.text} is for a person at a terminal`);
  const isOpen = words.some((word) => OPEN_VERBS.has(word.text));
  if (isOpen && !words.some(isUnknownVerb)) return ALLOW;
  // Given to a program that only handles files (cp, git, npm install …), without any verb, it is a name like others.
  return at > 0 &&
    words.length === 0 &&
    !/^(xargs|parallel|watch|script|expect|timeout|sh|bash|zsh|dash|node|tsx|npx)$/.test(programOf(command).name)
    ? ALLOW
    : block("What the emergency stop's command is told can't be read from here");
}

/** Only the reason may be computed. */
function isUnknownVerb(word: Word, index: number, words: readonly Word[]): boolean {
  return word.dynamic && words[index - 1]?.text !== "--reason" && !word.text.startsWith("--reason=");
}

function programOf(command: SimpleCommand): { name: string; at: number } {
  for (const [at, word] of command.entries()) {
    if (word.target || /^[A-Za-z_]\w*=/.test(word.text) || (at > 0 && word.text.startsWith("-"))) continue;
    const name = word.text.slice(word.text.lastIndexOf("/") + 1);
    if (!WRAPPERS.has(name)) return { name: word.dynamic ? "" : name, at };
  }
  return { name: "", at: 0 };
}

function writesAnyway(program: string, command: SimpleCommand): boolean {
  const has = (pattern: RegExp): boolean => command.some((word) => pattern.test(word.text));
  if (program === "find") return has(/^-(delete|exec|execdir|ok|okdir|fprint|fprintf|fls)/);
  if (program === "sed") return has(/^(-[a-zA-Z]*i|--in-place)/) || has(/(^|[;}\s/])w\s/);
  if (program === "sort") return has(/^(-[a-zA-Z]*o|--output)/);
  return false;
}

/** Where a word leads: into a folder of the stop, to one above, or elsewhere. A glob counts by what stands before it. */
function reaches(text: string, places: GuardedPlaces): "inside" | "above" | "elsewhere" {
  const value = /^--?[\w-]+=/.test(text) ? text.slice(text.indexOf("=") + 1) : text;
  const expanded = expand(value, places);
  const glob = expanded.search(/[*?[{]/);
  if (glob >= 0) {
    const start = absolute(expanded.slice(0, glob), places, true);
    return places.roots.some((root) => `${root}/`.startsWith(start)) ? "above" : insideAny(start, places);
  }
  if (expanded === "" || expanded.startsWith("-")) return "elsewhere";
  const path = absolute(expanded, places);
  const real = places.realPath?.(path) ?? path;
  const inside = insideAny(path, places) === "inside" || insideAny(real, places) === "inside";
  if (inside) return "inside";
  return places.roots.some((root) => isInside(root, path) || isInside(root, real)) ? "above" : "elsewhere";
}

function insideAny(path: string, places: GuardedPlaces): "inside" | "elsewhere" {
  return places.roots.some((root) => isInside(path, root)) ? "inside" : "elsewhere";
}

function absolute(path: string, places: GuardedPlaces, keepsEnd = false): string {
  const joined = isAbsolute(path) ? resolve(path) : resolve(places.cwd, path);
  if (!keepsEnd) return joined;
  // What stands before a glob is a beginning of a name, or a folder when it ends in a slash.
  return path === "" || path.endsWith("/") ? join(joined, "/") : joined;
}

/** A folder of the stop named anywhere in a text: an argument of a program's own language, a pattern, a URL. */
function mentions(text: string, places: GuardedPlaces): boolean {
  const expanded = expand(text, places);
  return places.roots.some(
    (root) => expanded.includes(root) || (dirname(root) !== "/" && text.includes(homeForm(root, places))),
  );
}

function homeForm(root: string, places: GuardedPlaces): string {
  return isInside(root, places.home) && root !== places.home ? `~${root.slice(places.home.length)}` : root;
}

function expand(text: string, places: GuardedPlaces): string {
  return text
    .replace(/^~(?=\/|$)/, places.home)
    .replaceAll(/\$HOME\b|\$\{HOME\}/g, places.home)
    .replaceAll(/\$PWD\b|\$\{PWD\}/g, places.cwd);
}

function fieldOf(input: unknown, names: readonly string[]): string | undefined {
  if (typeof input !== "object" || input === null) return undefined;
  const found = Object.entries(input).find(([name, value]) => names.includes(name) && typeof value === "string");
  return typeof found?.[1] === "string" ? found[1] : undefined;
}

function textsOf(value: unknown, depth = 0): string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null || depth > 8) return [];
  return Object.values(value).flatMap((one) => textsOf(one, depth + 1));
}

function block(why: string): ToolVerdict {
  return {
    block: true,
    reason: `${why}. The emergency stop is lifted and set up by a person, not by an agent; this filter catches mistakes. Agents may ask: pi-claude-supervisor-control --all status.`,
  };
}
