/**
 * The verifier: runs the frozen commands and reports. It never decides what follows; the supervisor does. Order of
 * blame when several things happened: stopped, could not run, the tree changed meanwhile, failed, passed.
 */
import type { Redactor } from "../core/contracts/redaction.ts";
import type { VerifyFinding, VerifyOutcome, VerifyReport, VerifySpec } from "../core/contracts/verifier.ts";
import type { ContainmentRecord } from "../core/contracts/worker.ts";
import type { Failure } from "../core/result.ts";
import type { CgroupMode } from "../platform/containment/index.ts";
import type { ChangedFile } from "./changed-files.ts";
import { changesBetween, changesOf, rawChanges, type Since, summarize } from "./changed-files.ts";
import { type CleanTree, openCleanTree } from "./clean-tree.ts";
import { gatherFindings } from "./findings.ts";
import { foreignModules } from "./foreign-module.ts";
import { type GitHead, gitStateFindings } from "./git-state.ts";
import { notRemoved, runCommands } from "./run-commands.ts";
import type { Workspace } from "./snapshot.ts";
import { takeSnapshot } from "./snapshot.ts";
import { versions } from "./versions.ts";

/** Where the redacted output of a command is kept. */
export interface ArtifactSink {
  /** Stores the text (at most about 5 MiB) and resolves to the name under which it can be found. */
  write(hint: string, text: string): Promise<string>;
}

export interface VerifierDeps {
  /** The supervisor's folder (0700) for scratch indexes, trees and clean worktrees; keep it between runs. */
  scratchDir: string;
  /** Default `auto`. */
  cgroup?: CgroupMode;
  /** Default: `process.env`. */
  hostEnv?: Readonly<Record<string, string | undefined>>;
}

export interface VerifyOptions {
  redactor: Redactor;
  /** Aborted by a stop: everything is ended with proof and the report says `aborted`. */
  signal?: AbortSignal;
  /** Number of the verification in its task, for artifact names. */
  round?: number;
  artifactSink?: ArtifactSink;
  /** What to look for when this process dies: called before each command can do anything. */
  onContained?: (record: ContainmentRecord) => void | Promise<void>;
  /** Tree and commit at the task's start: for the findings `no-change`, `git-state` and changed test files. */
  since?: GitHead & { tree: string };
}

export interface Verifier {
  /** Never rejects for what the workspace or the command does; the report says it. */
  verify(spec: VerifySpec, options: VerifyOptions): Promise<VerifyReport>;
}

export function createVerifier(deps: VerifierDeps): Verifier {
  return { verify: (spec, options) => verify(deps, spec, options) };
}

/** What the stages of one verification hand on. */
export interface Outcome {
  outcome: VerifyOutcome;
  reason?: string;
  message: string;
}

async function verify(deps: VerifierDeps, spec: VerifySpec, options: VerifyOptions): Promise<VerifyReport> {
  const started = performance.now();
  const hostEnv = deps.hostEnv ?? process.env;
  const scope = {
    scratchDir: deps.scratchDir,
    hostEnv,
    ...(options.signal === undefined ? {} : { signal: options.signal }),
  };
  const report: VerifyReport = {
    outcome: "error",
    message: "",
    treeBefore: "",
    treeAfter: "",
    where: spec.where,
    commands: [],
    findings: [],
    versions: await versions({ hostEnv }),
    durationMs: 0,
  };
  const finish = (outcome: Outcome): VerifyReport => {
    report.outcome = outcome.outcome;
    report.message = outcome.message;
    if (outcome.reason !== undefined) report.reason = outcome.reason;
    report.durationMs = Math.round(performance.now() - started);
    return redacted(report, options.redactor);
  };

  const before = await takeSnapshot(spec.cwd, { ...scope, contents: true }).catch(unusable);
  if (!before.ok) return finish(asError(before));
  const { workspace } = before;
  report.treeBefore = workspace.id;
  let outcome: Outcome;
  try {
    outcome = await runAll(deps, spec, options, { workspace, report, hostEnv }).catch((error) =>
      asError(crashed(error)),
    );
    const after = await takeSnapshot(spec.cwd, { scratchDir: deps.scratchDir, hostEnv }).catch(unusable);
    if (!after.ok) {
      outcome = outcome.outcome === "error" ? outcome : asError(after);
    } else {
      report.treeAfter = after.workspace.id;
      if (report.treeAfter !== report.treeBefore) {
        const changed = await treeChanged(spec, workspace, after.workspace);
        report.findings.push(...changed.findings);
        if (outcome.outcome !== "error") outcome = changed.outcome;
      }
      await after.workspace.release();
    }
  } finally {
    await workspace.release();
  }
  return finish(outcome);
}

export interface RunScope {
  workspace: Workspace;
  report: VerifyReport;
  hostEnv: Readonly<Record<string, string | undefined>>;
}

async function runAll(deps: VerifierDeps, spec: VerifySpec, options: VerifyOptions, scope: RunScope): Promise<Outcome> {
  const { report, workspace } = scope;
  const prefix = workspace.git?.repo.prefix ?? "";
  const changed = await sinceStart(workspace, options.since);
  if (changed !== undefined) report.changes = changesOf(changed);
  const facts = { spec, cwd: spec.cwd, notes: workspace.notes, changed, prefix: prefix && `${prefix}/` };
  report.findings.push(...(await gatherFindings(facts)));
  if (workspace.git !== undefined) {
    report.findings.push(...(await gitStateFindings(workspace.git.repo, options.since, { hostEnv: scope.hostEnv })));
  }
  const isForeignModule = await foreignModules(
    workspace.git?.repo.root ?? spec.cwd,
    spec.cwd,
    (changed ?? []).map((file) => file.path),
    spec.commands.map((command) => command.text),
  );
  if (spec.where === "workspace") return runCommands(deps, spec, options, { ...scope, cwd: spec.cwd, isForeignModule });
  if (workspace.git === undefined) {
    const message = `${spec.cwd} is in no git repository, so there is no tree to check out. Use --verify-in workspace.`;
    return { outcome: "error", reason: "clean-needs-git", message };
  }
  const opened = await openCleanTree(workspace.git, spec, {
    scratchDir: deps.scratchDir,
    hostEnv: scope.hostEnv,
    ...(options.signal === undefined ? {} : { signal: options.signal }),
  });
  if (!opened.ok) return asError(opened);
  const { tree } = opened;
  try {
    report.findings.push(...tree.findings, ...absolutePaths(spec, workspace.git.repo.root));
    const outcome = await runCommands(deps, spec, options, { ...scope, cwd: tree.cwd, isForeignModule });
    if (outcome.outcome !== "pass") report.findings.push(...leftBehind(tree));
    return outcome;
  } finally {
    await tree.remove().catch((error) => report.findings.push(notRemoved("clean worktree", error)));
  }
}

/** `node /path/of/the/workspace/check.js` runs the workspace's file wherever it is started. */
function absolutePaths(spec: VerifySpec, root: string): VerifyFinding[] {
  const naming = spec.commands.filter((command) => command.text.includes(root));
  return naming.map((command) => ({
    kind: "not-covered",
    detail: `"${command.text}" names the workspace by its absolute path; use relative paths, so that the clean worktree is checked.`,
  }));
}

/** Why a check may fail in a clean worktree although it passes in the workspace. */
function leftBehind(tree: CleanTree): VerifyFinding[] {
  if (tree.leftBehind.length === 0) return [];
  const detail = `Ignored files of the workspace are not in the clean worktree: ${summarize(tree.leftBehind, 10)}. If the check needs them, make them with --verify-setup, name the folder in verify.carry, or use --verify-in workspace.`;
  return [{ kind: "not-covered", detail }];
}

async function sinceStart(workspace: Workspace, since: Since | undefined): Promise<ChangedFile[] | undefined> {
  if (since === undefined) return undefined;
  if (workspace.git === undefined) return since.tree === workspace.id ? [] : undefined;
  const changed = await changesBetween(since, workspace.id, workspace.git.options);
  return changed.ok ? changed.files : undefined;
}

async function treeChanged(
  spec: VerifySpec,
  before: Workspace,
  after: Workspace,
): Promise<{ outcome: Outcome; findings: VerifyFinding[] }> {
  const changes = after.git === undefined ? undefined : await rawChanges(before.id, after.id, after.git.options);
  const paths = changes?.ok ? changes.changes.map((file) => file.path) : [];
  const which = paths.length > 0 ? ` (${summarize(paths)})` : "";
  const advice =
    spec.where === "workspace"
      ? "If the command itself writes these files, let .gitignore name them or use --verify-in clean; else end what writes them."
      : "Something still writes there; end it and verify again.";
  return {
    outcome: {
      outcome: "error",
      reason: "tree-changed",
      message: `The workspace changed while the verification ran${which}, so the result counts for no tree. ${advice}`,
    },
    findings: paths
      .slice(0, 50)
      .map((path) => ({ kind: "tree-changed", path, detail: "It changed while the verification ran." })),
  };
}

function asError(failed: Failure): Outcome {
  return { outcome: "error", reason: failed.reason, message: failed.message };
}

/** A workspace that vanished or cannot be read is a fact to report, not a crash of the supervisor. */
function unusable(error: unknown): Failure {
  const message = error instanceof Error ? error.message : String(error);
  return { ok: false, reason: "workspace-unusable", message: `The workspace cannot be read: ${message}.` };
}

/** Our own trouble (no space, no temporary folder) is an error of the verification: a person looks, nothing is lost. */
function crashed(error: unknown): Failure {
  const message = error instanceof Error ? error.message : String(error);
  return {
    ok: false,
    reason: "verifier-failed",
    message: `The verifier could not do its work: ${message}. Verify again when that is mended.`,
  };
}

/** Commands were refused at start when they held a secret; names of files and git's words were not. */
function redacted(report: VerifyReport, redactor: Redactor): VerifyReport {
  return {
    ...report,
    message: redactor.text(report.message),
    ...(report.changes === undefined ? {} : { changes: redactor.data(report.changes) }),
    findings: report.findings.map((finding) => ({
      ...finding,
      detail: redactor.text(finding.detail),
      ...(finding.path === undefined ? {} : { path: redactor.text(finding.path) }),
    })),
  };
}
