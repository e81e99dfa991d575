/**
 * `getSupervisor()`: the supervisor of this process for the configured state folder. It lives beside the module, on
 * `globalThis`, because Pi 0.73.1 evaluates an extension's modules anew at `/new` and both lines do so at `/reload`
 * (pi 0.73.1, 1.6.0), while tasks must go on.
 */
import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import { join } from "node:path";
import type { DecisionSessionFactory } from "../core/contracts/decision.ts";
import { failure, type Result } from "../core/result.ts";
import { currentAccount } from "../platform/account.ts";
import { systemClock } from "../platform/clock.ts";
import { durableWrite } from "../platform/durable-write.ts";
import { createIds } from "../platform/ids.ts";
import { readNoFollow } from "../platform/no-follow.ts";
import { createRedactor } from "../redaction/index.ts";
import { openStateDir, type StateLayout } from "../store/layout.ts";
import { sweepScratch } from "../verifier/index.ts";
import { createWorker } from "../worker/index.ts";
import type { Supervisor } from "./api.ts";
import type { Environment, SupervisorDeps } from "./deps.ts";
import { LocalSupervisor } from "./local-supervisor.ts";
import { sweepTmpDirs } from "./worker-tmp.ts";

export type { Supervisor } from "./api.ts";

const REGISTRY = Symbol.for("pi-claude-supervisor.supervisors");

export interface SupervisorOptions {
  /** Pi's agent folder, where the person's `supervisor.json` lies. */
  agentDir?: string;
  /** Pi's SDK for the decider; absent: every question is a person's. */
  decisions?: DecisionSessionFactory;
}

/** Reasons: why the state folder can't be used (`wrong-owner`, `wrong-mode`, `symlink`, …). */
export async function getSupervisor(
  env: Environment = process.env,
  options: SupervisorOptions = {},
): Promise<Result<{ supervisor: Supervisor }>> {
  const { agentDir, decisions } = options;
  const deps = supervisorDeps(env, { agentDir, ...(decisions === undefined ? {} : { decisions }) });
  if (!deps.ok) return deps;
  const { root } = deps.deps.layout;
  const known = registry().get(root);
  if (known && !known.closed) return { ok: true, supervisor: known };
  /* A new session after Pi's quit in the same process (embedders): the old one lets go of its locks first. */
  await known?.closed;
  const supervisor = new LocalSupervisor(deps.deps);
  registry().set(root, supervisor);
  /* A supervisor that was killed in the middle of a verification left a copy of the workspace behind. */
  const scratch = deps.deps.layout.folder("scratch");
  if (scratch.ok) void sweepScratch(scratch.path).catch(() => undefined);
  void sweepTmpDirs().catch(() => undefined);
  return { ok: true, supervisor };
}

/** The real outside of a supervisor: its state folder judged or made. `seams` replaces parts of it in tests. */
export function supervisorDeps(
  env: Environment,
  seams: Partial<SupervisorDeps> = {},
): Result<{ deps: SupervisorDeps }> {
  const opened = openStateDir({ env });
  if (!opened.ok) return opened;
  const account = currentAccount();
  if (!account.ok) return account;
  const salt = readSalt(opened.layout);
  if (!salt.ok) return salt;
  const deps: SupervisorDeps = {
    env,
    agentDir: undefined,
    layout: opened.layout,
    clock: systemClock,
    ids: createIds(),
    home: account.account.home,
    host: hostname(),
    salt: salt.salt,
    createRedactor,
    createWorker,
    ...seams,
  };
  return { ok: true, deps };
}

/** The supervisors that this process has opened so far; opens none. */
export function openSupervisors(): Supervisor[] {
  return [...registry().values()];
}

function registry(): Map<string, LocalSupervisor> {
  const holder = globalThis as { [REGISTRY]?: Map<string, LocalSupervisor> };
  holder[REGISTRY] ??= new Map();
  return holder[REGISTRY];
}

/** One secret salt for a state folder: equal secrets get equal markers in all its logs, and nobody else can guess them. */
function readSalt(layout: StateLayout): Result<{ salt: string }> {
  const path = join(layout.root, "redaction-salt");
  const read = readNoFollow(path, { maxBytes: 256 });
  if (read.ok) {
    const salt = read.bytes.toString("utf8").trim();
    return /^[0-9a-f]{64}$/.test(salt)
      ? { ok: true, salt }
      : failure("salt-malformed", `${path} is not a salt of ours. Remove it; a new one is made.`);
  }
  if (read.reason !== "missing") return read;
  const salt = randomBytes(32).toString("hex");
  const written = durableWrite(path, `${salt}\n`);
  return written.ok ? { ok: true, salt } : written;
}
