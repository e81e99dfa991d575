/** All program tables as one look-up. A name stands in exactly one table; a test holds that. */
import { GIT } from "../git/git.ts";
import type { Program, ProgramTable } from "../invocation.ts";
import { ENVIRONMENTS } from "../runners/environments.ts";
import { PACKAGE_MANAGERS } from "../runners/packages.ts";
import { TOOLS } from "../runners/tools.ts";
import { BUILTINS } from "./builtins.ts";
import { CARRIERS } from "./carriers.ts";
import { AGENTS } from "./claude.ts";
import { CONTAINERS } from "./containers.ts";
import { FILES } from "./files.ts";
import { INTERPRETERS } from "./interpreters.ts";
import { LOOK } from "./look.ts";
import { MACHINE } from "./machine.ts";
import { NETWORK_PROGRAMS } from "./network.ts";
import { OUTWARD } from "./outward.ts";
import { PRINT } from "./print.ts";
import { REMOVAL } from "./removal.ts";
import { SEARCH } from "./search.ts";
import { SHELLS } from "./shells.ts";
import { VERSIONS } from "./versions.ts";
import { VIEW } from "./view.ts";
import { WRAPPERS } from "./wrappers.ts";

/** The tables depend on each other (a wrapper starts a program), so they are joined at the first look-up. */
export function tables(): Readonly<Record<string, ProgramTable>> {
  return {
    agents: AGENTS,
    print: PRINT,
    look: LOOK,
    view: VIEW,
    search: SEARCH,
    builtins: BUILTINS,
    shells: SHELLS,
    wrappers: WRAPPERS,
    carriers: CARRIERS,
    interpreters: INTERPRETERS,
    files: FILES,
    removal: REMOVAL,
    machine: MACHINE,
    network: NETWORK_PROGRAMS,
    outward: OUTWARD,
    containers: CONTAINERS,
    git: GIT,
    "package-managers": PACKAGE_MANAGERS,
    environments: ENVIRONMENTS,
    tools: TOOLS,
    versions: VERSIONS,
  };
}

let programs: Map<string, Program> | undefined;

export function findProgram(name: string): Program | undefined {
  programs ??= joined();
  return programs.get(name) ?? versioned(name, programs);
}

function joined(): Map<string, Program> {
  const all = new Map<string, Program>();
  for (const table of Object.values(tables()))
    for (const [name, program] of Object.entries(table)) all.set(name, program);
  return all;
}

/** `python3.12`, `node20`, `mkfs.ext4`. */
function versioned(name: string, all: ReadonlyMap<string, Program>): Program | undefined {
  if (name.startsWith("mkfs.")) return all.get("mkfs");
  const match = /^(python|pip|node|ruby|perl|php|lua|go)[\d.]+$/.exec(name);
  return match === null ? undefined : all.get(match[1] ?? "");
}
