/**
 * The reviewer's eyes: read, grep, find and ls over one folder, ours instead of Pi's. Pi's own take any absolute path, follow
 * links out of the folder, and fetch programs when they are missing (0.73.1, 1.6.0); these stay inside, change nothing,
 * redact what they show, and are bounded in each answer and altogether.
 *
 * Memory: one file of at most 1 MiB, or 1 MiB of grep's output, at a time.
 */
import { execFile } from "node:child_process";
import { constants, type Dirent } from "node:fs";
import { open, readdir, realpath } from "node:fs/promises";
import { join, relative, resolve, sep } from "node:path";
import { Type } from "typebox";
import type { HelperTool } from "../core/contracts/decision.ts";
import type { Redactor } from "../core/contracts/redaction.ts";
import { visible } from "../core/text.ts";
import { fieldOf, textOf } from "./questions.ts";

const MAX_FILE_BYTES = 1024 * 1024;
/** Characters of one answer, and of all answers of a review together. */
const MAX_ANSWER = 16_000;
const MAX_TOTAL = 400_000;
const MAX_LOOKS = 100;
const MAX_ENTRIES = 20_000;
const MAX_FOUND = 200;
const MAX_PATTERN = 500;
const GREP_MS = 10_000;

export interface TreeTools {
  tools: readonly HelperTool[];
  /** Calls so far. */
  readonly looks: number;
}

/** `root` is a real path. */
export function treeTools(root: string, redactor: Redactor): TreeTools {
  let looks = 0;
  let left = MAX_TOTAL;
  const tool = (
    name: string,
    description: string,
    parameters: object,
    look: (args: unknown, signal: AbortSignal) => Promise<string>,
  ): HelperTool => ({
    name,
    description,
    parameters,
    async run(args, signal) {
      looks += 1;
      if (looks > MAX_LOOKS || left <= 0) return "No more looking: give your verdict with review now.";
      const seen = await look(args, signal).catch((error: unknown) => `It can't be shown: ${reasonOf(error)}.`);
      const answer = bounded(visible(redactor.text(seen)));
      left -= answer.length;
      return answer;
    },
  });
  const path = Type.Optional(Type.String({ description: "Relative to the tree's top; default: the top." }));
  return {
    get looks() {
      return looks;
    },
    tools: [
      tool(
        "read",
        "Shows a text file with line numbers.",
        Type.Object({
          path: Type.String(),
          offset: Type.Optional(Type.Integer({ description: "First line, from 1." })),
          limit: Type.Optional(Type.Integer({ description: "Lines; default 400." })),
        }),
        async (args) =>
          readText(await inside(root, textOf(args, "path")), fieldOf(args, "offset"), fieldOf(args, "limit")),
      ),
      tool("ls", "Lists a folder.", Type.Object({ path }), async (args) =>
        (await entries(await inside(root, textOf(args, "path") ?? "."))).map(nameOf).join("\n"),
      ),
      tool(
        "find",
        "Lists files whose path matches a pattern with * and ?.",
        Type.Object({ pattern: Type.String({ description: "Such as *.test.ts or src/*" }), path }),
        async (args, signal) => {
          const from = await inside(root, textOf(args, "path") ?? ".");
          return findFiles(root, from, patternOf(args), signal);
        },
      ),
      tool(
        "grep",
        "Shows lines that match an extended regular expression, with file and line number.",
        Type.Object({ pattern: Type.String(), path, ignoreCase: Type.Optional(Type.Boolean()) }),
        async (args, signal) => {
          const from = await inside(root, textOf(args, "path") ?? ".");
          return grep(root, from, patternOf(args), fieldOf(args, "ignoreCase") === true, signal);
        },
      ),
    ],
  };
}

class Refused extends Error {}

/** The real path of something inside the tree; links out of it and git's own folder are refused. */
async function inside(root: string, given: string | undefined): Promise<string> {
  if (given === undefined || given.length > 4_096 || given.includes("\0")) throw new Refused("it needs a path");
  const real = await realpath(resolve(root, given));
  const within = relative(root, real);
  if (within === ".." || within.startsWith(`..${sep}`)) throw new Refused("it is outside of the verified tree");
  if (within.split(sep).includes(".git")) throw new Refused("git's own folder is not part of the tree");
  return real;
}

async function readText(path: string, offset: unknown, limit: unknown): Promise<string> {
  /* Without O_NONBLOCK a pipe in the tree would be waited for. */
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
  try {
    const stats = await file.stat();
    if (!stats.isFile()) throw new Refused("it is no file");
    const bytes = Buffer.alloc(Math.min(stats.size, MAX_FILE_BYTES));
    const { bytesRead } = await file.read(bytes, 0, bytes.length, 0);
    const content = bytes.subarray(0, bytesRead);
    if (content.includes(0)) return `(binary, ${stats.size} bytes)`;
    const lines = content.toString("utf8").split("\n");
    const first = whole(offset, 1);
    const shown = lines.slice(first - 1, first - 1 + whole(limit, 400));
    const rest =
      stats.size > MAX_FILE_BYTES ? `\n[of ${stats.size} bytes the first ${MAX_FILE_BYTES} can be read]` : "";
    return shown.map((line, index) => `${first + index}\t${line}`).join("\n") + rest;
  } finally {
    await file.close();
  }
}

async function entries(folder: string): Promise<Dirent[]> {
  const list = await readdir(folder, { withFileTypes: true });
  return list.filter((entry) => entry.name !== ".git").sort((a, b) => (a.name < b.name ? -1 : 1));
}

function nameOf(entry: Dirent): string {
  return `${entry.name}${entry.isDirectory() ? "/" : entry.isSymbolicLink() ? "@" : ""}`;
}

async function findFiles(root: string, from: string, pattern: string, signal: AbortSignal): Promise<string> {
  const found: string[] = [];
  const folders = [from];
  let seen = 0;
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for (const entry of await entries(folder)) {
      if (signal.aborted || ++seen > MAX_ENTRIES || found.length >= MAX_FOUND)
        return `${found.join("\n")}\n[there may be more]`;
      const path = join(folder, entry.name);
      if (entry.isDirectory()) folders.push(path);
      else if (matches(pattern, relative(root, path)) || matches(pattern, entry.name)) found.push(relative(root, path));
    }
  }
  return found.length === 0 ? "(nothing)" : found.sort().join("\n");
}

/** `*` any characters, `?` one. Two pointers and no backtracking tree: quadratic at worst, whatever the pattern. */
export function matches(pattern: string, text: string): boolean {
  let p = 0;
  let star = -1;
  let mark = 0;
  for (let t = 0; t < text.length; ) {
    if (p < pattern.length && (pattern[p] === "?" || (pattern[p] === text[t] && pattern[p] !== "*"))) {
      p += 1;
      t += 1;
    } else if (p < pattern.length && pattern[p] === "*") {
      star = p;
      mark = t;
      p += 1;
    } else if (star >= 0) {
      p = star + 1;
      mark += 1;
      t = mark;
    } else return false;
  }
  while (pattern[p] === "*") p += 1;
  return p === pattern.length;
}

/** A process of its own, so that no expression can hold up Pi. `-r` follows no link (POSIX.1-2024, GNU and BSD grep). */
function grep(root: string, from: string, pattern: string, ignoreCase: boolean, signal: AbortSignal): Promise<string> {
  const flags = `-rnIE${ignoreCase ? "i" : ""}`;
  const args = [flags, "--exclude-dir=.git", "-e", pattern, "--", relative(root, from) || "."];
  const env = { PATH: process.env["PATH"] ?? "/usr/bin:/bin", LC_ALL: "C.UTF-8" };
  return new Promise((done) => {
    execFile(
      "grep",
      args,
      { cwd: root, env, timeout: GREP_MS, killSignal: "SIGKILL", maxBuffer: MAX_FILE_BYTES, signal },
      (error, stdout, stderr) => {
        const lines = stdout.split("\n").map((line) => (line.length > 400 ? `${line.slice(0, 400)}…` : line));
        if (stdout !== "") done(lines.slice(0, MAX_FOUND).join("\n"));
        else if (error === null || error.code === 1) done("(nothing)");
        else
          done(error.killed ? "It took too long: use a simpler expression." : `grep: ${stderr.trim().slice(0, 300)}`);
      },
    );
  });
}

function patternOf(args: unknown): string {
  const pattern = textOf(args, "pattern");
  if (pattern === undefined || pattern === "" || pattern.length > MAX_PATTERN || /[\0\n]/.test(pattern))
    throw new Refused(`it needs a pattern of 1 to ${MAX_PATTERN} characters on one line`);
  return pattern;
}

function whole(given: unknown, otherwise: number): number {
  return typeof given === "number" && Number.isSafeInteger(given) && given > 0 ? given : otherwise;
}

function bounded(text: string): string {
  return text.length <= MAX_ANSWER ? text : `${text.slice(0, MAX_ANSWER)}\n[cut after ${MAX_ANSWER} characters]`;
}

/** A code, not the system's sentence: that holds the path of the checkout, which is nobody's business. */
function reasonOf(error: unknown): string {
  if (error instanceof Refused) return error.message;
  const code = error instanceof Error && "code" in error ? String(error.code) : "unknown";
  return code === "ENOENT" ? "it does not exist" : code;
}
