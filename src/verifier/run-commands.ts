/** The commands of one verification, where the scope says: setup, every command, every run, their results. */
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { VerifyCommand, VerifyFinding, VerifySpec } from "../core/contracts/verifier.ts";
import { classify, type ForeignModule } from "./classify.ts";
import { verifyEnvironment } from "./environment.ts";
import { removeFolder } from "./own-folder.ts";
import type { Outcome, RunScope, VerifierDeps, VerifyOptions } from "./run.ts";
import { runCommand } from "./run-command.ts";

export interface CommandScope extends RunScope {
  cwd: string;
  isForeignModule: ForeignModule;
}

/** Setup, then every command as often as asked; an error ends the list, a failure does not. */
export async function runCommands(
  deps: VerifierDeps,
  spec: VerifySpec,
  options: VerifyOptions,
  scope: CommandScope,
): Promise<Outcome> {
  const once = (command: VerifyCommand, index: number, run: number) =>
    runOnce(deps, spec, options, scope, { command, index, run });
  if (spec.setup !== undefined && spec.where === "clean") {
    const setup = await once(spec.setup, -1, 0);
    if (setup.outcome === "fail") {
      const message = `The setup failed: ${setup.message} Correct --verify-setup, or use --verify-in workspace.`;
      return { outcome: "error", reason: "setup-failed", message };
    }
    if (setup.outcome === "error") return setup;
  }
  const outcomes: Outcome[] = [];
  for (const [index, command] of spec.commands.entries()) {
    const results: Outcome[] = [];
    for (let run = 1; run <= spec.runs; run++) {
      const result = await once(command, index, run);
      if (result.outcome === "error") return result;
      results.push(result);
    }
    outcomes.push(flakiness(command, results, scope.report.findings));
  }
  return outcomes.find((one) => one.outcome === "fail") ?? passed(outcomes, spec);
}

async function runOnce(
  deps: VerifierDeps,
  spec: VerifySpec,
  options: VerifyOptions,
  scope: CommandScope,
  what: { command: VerifyCommand; index: number; run: number },
): Promise<Outcome> {
  const { command, index, run } = what;
  // In the system's own place: paths of sockets must be short (108 bytes).
  const tmpDir = await mkdtemp(join(scope.hostEnv["TMPDIR"] ?? tmpdir(), "pcs-verify-"));
  const done = await runCommand(command, {
    cwd: scope.cwd,
    env: verifyEnvironment({ hostEnv: scope.hostEnv, envNames: spec.envNames, tmpDir }),
    tmpDir,
    cgroup: deps.cgroup ?? "auto",
    redactor: options.redactor,
    ...(options.onContained === undefined ? {} : { onContained: options.onContained }),
    ...(options.signal === undefined ? {} : { signal: options.signal }),
  }).finally(() => removeTemporary(tmpDir, scope.report.findings));
  const facts = { text: command.text, timeoutMs: command.timeoutMs, isForeignModule: scope.isForeignModule };
  const verdict = classify(done, facts);
  const hint = `verify-${options.round ?? 1}-${run === 0 ? "setup" : index + 1}${spec.runs > 1 && run > 0 ? `-${run}` : ""}.log`;
  const artifact = done.output.bytes > 0 ? await options.artifactSink?.write(hint, done.output.text) : undefined;
  scope.report.commands.push({
    text: command.text,
    argv: command.argv,
    run,
    ...(verdict.reason === undefined ? {} : { reason: verdict.reason }),
    exitCode: done.exit.code,
    signal: done.exit.signal,
    timedOut: done.timedOut,
    durationMs: done.durationMs,
    outputBytes: done.output.bytes,
    outputSha256: done.output.sha256,
    outputTail: done.output.tail,
    ...(artifact === undefined ? {} : { artifact }),
    outcome: verdict.outcome,
  });
  return verdict;
}

/** All runs of one command in one outcome: mixed is flaky, and flaky is a failure. */
function flakiness(command: VerifyCommand, results: readonly Outcome[], findings: VerifyFinding[]): Outcome {
  const failed = results.filter((one) => one.outcome === "fail");
  const first = failed[0];
  if (first === undefined) return { outcome: "pass", message: "" };
  if (failed.length === results.length) return first;
  const detail = `"${command.text}" failed in ${failed.length} of ${results.length} runs of the same tree.`;
  findings.push({ kind: "flaky", detail });
  return { outcome: "fail", reason: "flaky", message: `${detail} A flaky check does not count as passed.` };
}

function passed(outcomes: readonly Outcome[], spec: VerifySpec): Outcome {
  const times = spec.runs > 1 ? `, each ${spec.runs} times` : "";
  const what =
    outcomes.length === 1
      ? `"${spec.commands[0]?.text}" exited with 0`
      : `all ${outcomes.length} commands exited with 0`;
  return { outcome: "pass", message: `${what}${times}.` };
}

/** What cannot be removed (files of another account, a busy mount) is told and does not cost the verdict. */
export function notRemoved(what: string, error: unknown): VerifyFinding {
  const message = error instanceof Error ? error.message : String(error);
  return { kind: "not-covered", detail: `The ${what} could not be removed: ${message}.` };
}

async function removeTemporary(folder: string, findings: VerifyFinding[]): Promise<void> {
  await removeFolder(folder).catch((error) => findings.push(notRemoved("command's temporary folder", error)));
}
