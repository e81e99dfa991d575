/** All program tables as one look-up. A name stands in exactly one table; a test holds that. */
import type { Program, ProgramTable } from "../invocation.ts";
import { AGENTS } from "./claude.ts";
import { LOOK } from "./look.ts";
import { PRINT } from "./print.ts";
import { VIEW } from "./view.ts";

export const TABLES: Readonly<Record<string, ProgramTable>> = { agents: AGENTS, print: PRINT, look: LOOK, view: VIEW };

const PROGRAMS = new Map<string, Program>();
for (const table of Object.values(TABLES))
  for (const [name, program] of Object.entries(table)) PROGRAMS.set(name, program);

export function findProgram(name: string): Program | undefined {
  return PROGRAMS.get(name) ?? versioned(name);
}

/** `python3.12`, `node20`, `mkfs.ext4`. */
function versioned(name: string): Program | undefined {
  if (name.startsWith("mkfs.")) return PROGRAMS.get("mkfs");
  const match = /^(python|pip|node|ruby|perl|php|lua|gcc|clang|go)[\d.]+$/.exec(name);
  return match === null ? undefined : PROGRAMS.get(match[1] ?? "");
}
