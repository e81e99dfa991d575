/**
 * `.gitattributes` + `filter.<name>.clean|smudge|process` run programs whenever git reads or writes a file. Filters of
 * the person's own (global, system) configuration are kept; those that the repository's configuration defines or
 * redefines are switched off, except the standard Git LFS lines, which `git lfs install --local` writes.
 */
import type { Result } from "../core/result.ts";
import type { GitOptions } from "./git.ts";
import { git, nulList } from "./git.ts";

/** The values that Git LFS 2 and 3 write. */
const LFS: Readonly<Record<string, string>> = {
  "filter.lfs.clean": "git-lfs clean -- %f",
  "filter.lfs.smudge": "git-lfs smudge -- %f",
  "filter.lfs.process": "git-lfs filter-process",
  "filter.lfs.required": "true",
};

const FIELDS = ["clean", "smudge", "process", "required"] as const;
const FILTER_KEY = /^filter\.(.*)\.([^.]+)$/s;

export interface FilterOverrides {
  overrides: (readonly [string, string])[];
  /** Names of the filters whose repository-made definition was switched off. */
  disabled: string[];
  /** Names of all filters, whoever defined them. */
  names: string[];
}

export async function filterOverrides(options: GitOptions): Promise<Result<FilterOverrides>> {
  const listed = await git(["config", "--list", "--show-scope", "-z"], options);
  if (!listed.ok) return listed;
  // With -z and --show-scope: scope NUL key LF value NUL.
  const parts = nulList(listed.stdout);
  const trusted = new Map<string, string>();
  const local = new Map<string, string>();
  for (let at = 0; at + 1 < parts.length; at += 2) {
    const [key = "", value = ""] = splitFirst(parts[at + 1] ?? "", "\n");
    if (!/^(filter\.|lfs\.extension\.)/i.test(key)) continue;
    const scope = parts[at];
    if (scope === "local" || scope === "worktree") local.set(key, value);
    else if (scope === "global" || scope === "system") trusted.set(key, value);
  }
  const overrides: (readonly [string, string])[] = [];
  const disabled = new Set<string>();
  const lfsExtended = [...local.keys()].some((key) => /^lfs\.extension\./i.test(key));
  for (const [key, value] of local) {
    const match = FILTER_KEY.exec(key);
    if (match === null) continue;
    const kept = trusted.get(key);
    if (value === kept || (LFS[key] === value && !lfsExtended)) continue;
    const name = match[1] ?? "";
    disabled.add(name);
    for (const field of FIELDS) {
      const full = `filter.${name}.${field}`;
      overrides.push([full, trusted.get(full) ?? (field === "required" ? "false" : "")]);
    }
  }
  const names = new Set<string>();
  for (const key of [...trusted.keys(), ...local.keys()]) {
    const name = FILTER_KEY.exec(key)?.[1];
    if (name !== undefined) names.add(name);
  }
  return { ok: true, overrides, disabled: [...disabled], names: [...names] };
}

/** Overrides that switch every named filter off. */
export function withoutFilters(names: readonly string[]): (readonly [string, string])[] {
  return names.flatMap((name) =>
    FIELDS.map((field) => [`filter.${name}.${field}`, field === "required" ? "false" : ""] as const),
  );
}

function splitFirst(text: string, at: string): [string, string] {
  const index = text.indexOf(at);
  return index < 0 ? [text, ""] : [text.slice(0, index), text.slice(index + at.length)];
}
