/** The effect that has a reviewer look at a candidate: its tree checked out apart, read, and removed again. */
import type { ReviewFault, ReviewOutcome } from "../core/contracts/review.ts";
import type { EventMap } from "../core/events.ts";
import type { VerifyFacts } from "../core/machine/state.ts";
import { briefLines } from "../core/prompts.ts";
import type { Failure } from "../core/result.ts";
import { createReviewer } from "../decision/index.ts";
import { changedFiles, checkoutTree, diffText, writtenSince } from "../verifier/index.ts";
import type { DriverPort } from "./effect-port.ts";

/** Bytes of the diff that is read for a review; the prompt shows less, and the reviewer reads files itself. */
const DIFF_BYTES = 100_000;
const MOST_FILES = 300;
const TAIL_CHARS = 2_000;

type Outcome = ReviewOutcome | { stale: string };

export async function review(port: DriverPort): Promise<void> {
  const { verification } = port.state;
  if (verification.kind !== "reviewing") return;
  const { facts } = verification;
  const { treeId, round } = facts;
  port.record({ type: "review.started", data: { treeId, round } });
  await port.synced();
  const outcome = await judged(port, facts).catch((error: unknown) =>
    none("model-error", error instanceof Error ? error.message : String(error)),
  );
  const late = port.state.stop.kind !== "none" ? { late: true as const } : {};
  if ("stale" in outcome) {
    port.record({ type: "verify.stale", data: { passedTree: treeId, presentTree: outcome.stale, ...late } });
    return;
  }
  const { verdict, durationMs, looks, usd, model } = outcome;
  const said =
    outcome.verdict === "unavailable"
      ? { message: port.redactor.text(outcome.reason), code: outcome.code, findings: [] }
      : { message: outcome.summary, findings: outcome.findings };
  const data: EventMap["review.finished"] = {
    verdict,
    treeId,
    round,
    ...said,
    looks,
    durationMs,
    ...(model === undefined ? {} : { model }),
    ...(usd === undefined ? {} : { usd }),
    ...late,
  };
  port.record({ type: "review.finished", data });
  await port.synced();
}

async function judged(port: DriverPort, facts: VerifyFacts): Promise<Outcome> {
  const { deps, state, redactor, stopSignal } = port;
  const { spec } = state;
  const { decisions } = deps;
  if (!spec || !decisions) return none("no-model", "There is no Pi here whose model could review.");
  const folder = deps.layout.folder("decisions");
  if (!folder.ok) return none("no-tree", folder.message);
  const scratch = deps.layout.folder("scratch");
  if (!scratch.ok) return none("no-tree", scratch.message);
  const git = { scratchDir: scratch.path, hostEnv: deps.env, signal: stopSignal };
  const made = await checkoutTree(spec.verify, git);
  if (!made.ok) return unseen(made, stopSignal);
  try {
    if (made.id !== facts.treeId) return { stale: made.id };
    const tree = spec.startTree;
    const since = tree === undefined ? undefined : { tree, head: spec.startHead?.head };
    const diff = since === undefined ? null : await diffText(spec.cwd, since, { ...git, maxBytes: DIFF_BYTES });
    const changed = since === undefined ? null : await changedFiles(spec.cwd, since, git);
    const changes = changed?.ok
      ? listed(changed.files.map((file) => `${file.status} ${file.path}`))
      : await byTime(spec.cwd, Date.parse(state.createdAt), stopSignal);
    const model = spec.decisionModel;
    const reviewer = createReviewer({
      folder: folder.path,
      factory: decisions,
      redactor,
      clock: deps.clock,
      ...(model === undefined ? {} : { model }),
      ...(spec.limits.reviewMs === undefined ? {} : { timeoutMs: spec.limits.reviewMs }),
    });
    return await reviewer.review(
      {
        goal: spec.goal,
        rules: briefLines(spec.brief ?? {}),
        verification: spec.verify.commands.map((command) => command.text),
        evidence: evidenceOf(facts),
        changes,
        diff: diff?.ok ? diff.text : NO_DIFF,
        root: made.tree.root,
      },
      { signal: stopSignal },
    );
  } finally {
    await made.tree.remove().catch((error: unknown) => {
      const text = port.redactor.text(`The reviewer's checkout could not be removed: ${String(error)}`);
      port.record({ type: "notice", data: { level: "warning", text } });
    });
  }
}

const NO_DIFF = "(not known: the folder is in no git repository, or its start is not known any more. Read the files.)";

/** Without git, what was written since the start is all that is known. */
async function byTime(cwd: string, since: number, signal: AbortSignal): Promise<string> {
  const written = await writtenSince(cwd, since, signal);
  if (!written.ok) return "(not known)";
  const told = "By their time alone, these were written since the start; deleted files are not known:";
  return `${told}\n${listed(written.paths.map((path) => `written ${path}`))}`;
}

function none(code: ReviewFault, reason: string): ReviewOutcome {
  return { verdict: "unavailable", code, reason, durationMs: 0, looks: 0 };
}

function unseen(failed: Failure, signal: AbortSignal): ReviewOutcome {
  return none(signal.aborted ? "aborted" : "no-tree", failed.message);
}

function listed(lines: readonly string[]): string {
  if (lines.length === 0) return "(none)";
  const more = lines.length - MOST_FILES;
  return `${lines.slice(0, MOST_FILES).join("\n")}${more > 0 ? `\n${more} more` : ""}`;
}

function evidenceOf({ commands, findings, message }: VerifyFacts): string {
  return [
    message,
    ...commands.map(({ text, run, exitCode, outputTail }) => {
      const tail = outputTail.slice(-TAIL_CHARS);
      return `$ ${text} (run ${run}, exit ${exitCode ?? "none"})\n${tail}`;
    }),
    ...findings.map(({ kind, path, detail }) => `finding ${kind}${path === undefined ? "" : ` ${path}`}: ${detail}`),
  ].join("\n\n");
}
