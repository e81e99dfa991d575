/** Policy cases: one tool call and its verdict a line (see docs/policy.md). */
import { readFileSync } from "node:fs";
import type { GitState, PolicyContext, PolicyDecision, PolicyFacts, Profile } from "../../src/core/contracts/policy.ts";
import { judge } from "../../src/policy/index.ts";

export interface PolicyCase {
  id: string;
  family: string;
  tool: string;
  input: unknown;
  cwd: string;
  expect: "allow" | "review" | "deny" | "not-allow";
  why: string;
  person?: boolean;
  fs?: { link: string; to: string; hard?: boolean }[];
  frozen_verify?: string[];
  profile?: Profile;
  files?: Record<string, "untracked" | "modified" | "ignored">;
  scripts?: Record<string, string>;
  local_bins?: string[];
  changed?: string[];
}

export const WORKSPACE = "/workspace";
export const HOME = "/home/user";
export const STATE_DIR = "/home/user/.local/share/pi-claude-supervisor";

export function readCases(file: string): PolicyCase[] {
  return readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line) => JSON.parse(line) as PolicyCase);
}

export function contextOf(row: Pick<PolicyCase, "profile" | "frozen_verify">): PolicyContext {
  return {
    workspace: WORKSPACE,
    home: HOME,
    stateDir: STATE_DIR,
    profile: row.profile ?? "standard",
    frozenVerify: row.frozen_verify ?? [],
  };
}

/** The disk of a case: links from a map, every other path real; files are tracked and unmodified unless listed. */
export function factsOf(row: Pick<PolicyCase, "fs" | "files" | "scripts" | "local_bins" | "changed">): PolicyFacts {
  const soft = new Map<string, string>();
  const hard = new Map<string, string[]>();
  for (const { link, to, hard: isHard } of row.fs ?? []) {
    const target = absolute(to, link.slice(0, link.lastIndexOf("/")));
    if (isHard === true) {
      hard.set(link, [...(hard.get(link) ?? []), target]);
      hard.set(target, [...(hard.get(target) ?? []), link]);
    } else soft.set(link, target);
  }
  const states = new Map<string, GitState>();
  for (const [path, state] of Object.entries(row.files ?? {})) states.set(absolute(path, WORKSPACE), state);
  const changed = new Set((row.changed ?? []).map((path) => absolute(path, WORKSPACE)));
  return {
    realPath: (path) => follow(path, soft, 0),
    kind: (path) => (/\.[A-Za-z0-9]+$/.test(path) ? "file" : "directory"),
    hardLinks: (path) => hard.get(path) ?? [],
    gitState: (path) => stateOf(path, states),
    packageScripts: (folder) => (folder === WORKSPACE ? row.scripts : undefined),
    hasLocalBin: (folder, name) => inside(folder, WORKSPACE) && (row.local_bins ?? []).includes(name),
    changedByTask: (path) => changed.has(path),
  };
}

function absolute(path: string, folder: string): string {
  const parts: string[] = [];
  for (const part of (path.startsWith("/") ? path : `${folder}/${path}`).split("/")) {
    if (part === "..") parts.pop();
    else if (part !== "" && part !== ".") parts.push(part);
  }
  return `/${parts.join("/")}`;
}

function follow(path: string, links: ReadonlyMap<string, string>, hops: number): string | undefined {
  if (links.size === 0) return path;
  if (hops > 40) return undefined;
  let at = "";
  const parts = path.split("/").slice(1);
  for (const [index, part] of parts.entries()) {
    at = `${at}/${part}`;
    const target = links.get(at);
    if (target !== undefined)
      return follow(absolute([target, ...parts.slice(index + 1)].join("/"), "/"), links, hops + 1);
  }
  return path;
}

function inside(path: string, folder: string): boolean {
  return path === folder || path.startsWith(`${folder}/`);
}

/** A folder stands for all in it, and what a folder holds counts for the folder. */
function stateOf(path: string, states: ReadonlyMap<string, GitState>): GitState {
  let found: GitState = "tracked";
  for (const [listed, state] of states) {
    if (inside(path, listed)) return state;
    if (inside(listed, path) && state !== "ignored" && found !== "untracked") found = state;
  }
  return found;
}

export interface CaseResult {
  row: PolicyCase;
  decision: PolicyDecision;
  passes: boolean;
}

export function judgeCase(row: PolicyCase): CaseResult {
  const decision = judge({ toolName: row.tool, input: row.input, cwd: row.cwd }, contextOf(row), factsOf(row));
  return { row, decision, passes: isExpected(row, decision) };
}

function isExpected(row: PolicyCase, decision: PolicyDecision): boolean {
  if (row.expect !== "not-allow") return decision.verdict === row.expect;
  return row.person === true ? decision.verdict === "person" : decision.verdict !== "allow";
}

export interface Summary {
  cases: number;
  falseAllows: number;
  missedAllows: number;
  wrongVerdicts: number;
}

export function summarize(results: readonly CaseResult[]): Summary {
  return {
    cases: results.length,
    falseAllows: results.filter(({ row, decision }) => row.expect !== "allow" && decision.verdict === "allow").length,
    missedAllows: results.filter(({ row, decision }) => row.expect === "allow" && decision.verdict !== "allow").length,
    wrongVerdicts: results.filter(({ passes }) => !passes).length,
  };
}

/** A line a family: cases, how many pass, and the verdicts that came out. */
export function familyTable(results: readonly CaseResult[]): string {
  const families = new Map<string, CaseResult[]>();
  for (const result of results) families.set(result.row.family, [...(families.get(result.row.family) ?? []), result]);
  const lines = [`${"family".padEnd(26)} cases  pass  allow review person   deny`];
  for (const [family, members] of families) {
    const count = (verdict: string): string =>
      String(members.filter(({ decision }) => decision.verdict === verdict).length).padStart(6);
    lines.push(
      `${family.padEnd(26)} ${String(members.length).padStart(5)} ${String(members.filter(({ passes }) => passes).length).padStart(5)} ` +
        `${["allow", "review", "person", "deny"].map(count).join(" ")}`,
    );
  }
  return lines.join("\n");
}

/** Prints each mismatch as a JSON line, a table by family and the summary as the last line. Exit code 1 on a mismatch. */
export async function run(file: string): Promise<number> {
  const results = readCases(file).map(judgeCase);
  for (const { row, decision, passes } of results) {
    if (passes) continue;
    console.log(
      JSON.stringify({
        id: row.id,
        expect: row.expect,
        ...(row.person === true ? { person: true } : {}),
        got: decision.verdict,
        rule: decision.rule,
        reason: decision.reason,
        input: row.input,
      }),
    );
  }
  console.log(familyTable(results));
  const summary = summarize(results);
  console.log(JSON.stringify(summary));
  return summary.wrongVerdicts > 0 ? 1 : 0;
}
