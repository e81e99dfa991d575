/** Running a spike as a person does, and what holds for each. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { type Evidence, topicsOf } from "../../scripts/spike/evidence.ts";
import { PROMPT } from "../../scripts/spike/room.ts";
import { CLAUDE_VERSION, claudeBinary } from "../support/claude.ts";
import { PACKAGE_ROOT } from "../support/pi-setup.ts";
import { processesWithEnvironment } from "../support/processes.ts";
import type { Lab } from "../support/workspace.ts";

export type Name = "transport" | "permissions" | "signals" | "automation";

export interface Ran {
  code: number;
  stdout: string;
  stderr: string;
}

/** Runs `scripts/spike-<name>.ts` with this environment alone. */
export function spike(name: Name, args: readonly string[], env: Readonly<Record<string, string>>): Promise<Ran> {
  const words = ["--import", "tsx", join("scripts", `spike-${name}.ts`), ...args];
  return new Promise((resolve) => {
    execFile(process.execPath, words, { cwd: PACKAGE_ROOT, env, timeout: 150_000 }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : typeof error.code === "number" ? error.code : -1, stdout, stderr });
    });
  });
}

export async function evidenceOf(path: string): Promise<Evidence> {
  assert.equal((await stat(path)).mode & 0o777, 0o600);
  return JSON.parse(await readFile(path, "utf8")) as Evidence;
}

/** What may stand in no output: the prompt, the planted value, the key. */
export function assertSilent(ran: Ran, lab: Lab, evidence: Evidence): void {
  const everything = [ran.stdout, ran.stderr, JSON.stringify(evidence)].join("\n");
  for (const line of PROMPT.split("\n")) assert.ok(!everything.includes(line), "the prompt is told");
  assert.doesNotMatch(everything, new RegExp(["ghp", "[A-Za-z0-9]{20,}"].join("_")));
  assert.ok(!everything.includes(lab.apiKey), "the key is told");
}

export function assertSound(evidence: Evidence, name: Name): void {
  const failed = evidence.checks.filter((check) => !check.ok);
  assert.deepEqual(failed, []);
  assert.deepEqual(evidence.topics, topicsOf(evidence.checks));
  assert.deepEqual([evidence.schema, evidence.spike, evidence.ok], [1, name, true]);
  assert.equal(evidence.claude.version, CLAUDE_VERSION);
  assert.equal(evidence.claude.realPath, claudeBinary());
  assert.match(evidence.claude.package, /^@anthropic-ai\/claude-code.*@2\.1\.268$/);
  assert.notEqual(evidence.claude.license, "unknown");
  assert.equal(evidence.adapter.shell, false);
  assert.ok(evidence.exits.length > 0 && evidence.checks.every((check) => check.ms >= 0));
  assert.deepEqual(evidence.secrets.found, []);
  assert.equal(evidence.secrets.passedThrough, true);
  assert.ok(evidence.secrets.values >= 2);
  assert.equal(evidence.left.processes, 0);
}

/** Neither a temporary folder nor a process of a spike is left. */
export async function assertClean(lab: Lab): Promise<void> {
  const folders = await readdir(lab.tmp);
  assert.deepEqual(
    folders.filter((entry) => entry.startsWith("pcs-lab-")),
    [],
  );
  assert.deepEqual(processesWithEnvironment(`TMPDIR=${lab.tmp}`), []);
}
