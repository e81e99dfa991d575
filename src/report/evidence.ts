/**
 * The evidence as data, for programs and for whoever checks the work: what was asked, what ran on which tree, what came
 * of it, who signed. Made from the log like the page; `docs/evidence.schema.json` is its format.
 */
import type { EventMap } from "../core/events.ts";
import type { CallAnswer, Report } from "./model.ts";

/** Stands near the file's beginning: what tells it from any other file. */
export const EVIDENCE_KIND = "pi-claude-supervisor evidence";

export interface Evidence {
  kind: typeof EVIDENCE_KIND;
  v: 1;
  taskId: string;
  goal: string;
  state: string;
  madeAt: string;
  startTree: string | null;
  startCommit: string | null;
  criteria: { where: string; runs: number; setup: string | null; commands: string[]; carried: string[] } | null;
  /** Oldest first; `roundsLeftOut` came before them. */
  rounds: Round[];
  roundsLeftOut: number;
  changes: EventMap["verify.finished"]["changes"] | null;
  /** Null while nobody signed. */
  signOff: {
    treeId: string;
    round: number;
    at: string;
    verifier: string;
    person: Signature | null;
  } | null;
  log: { path: string; records: number; lastSeq: number; damage: string | null };
}

/** A person's own word, where one was needed. */
export interface Signature {
  at: string;
  via: string;
  note: string | null;
}

interface Round {
  seq: number;
  at: string;
  round: number;
  by: string;
  outcome: string;
  reason: string | null;
  message: string;
  treeId: string;
  treeAfter: string | null;
  where: string;
  durationMs: number;
  commands: {
    text: string;
    argv: string[];
    run: number;
    outcome: string;
    exitCode: number | null;
    signal: string | null;
    timedOut: boolean;
    durationMs: number;
    outputBytes: number;
    outputSha256: string;
    artifact: string | null;
  }[];
  findings: { kind: string; path: string | null; detail: string }[];
  /** Version lines of what took part; null in a log from before they were noted. */
  versions: Record<string, string> | null;
  /** Null where no reviewer has looked at it. */
  review: {
    seq: number;
    at: string;
    verdict: string;
    code: string | null;
    message: string;
    findings: { file: string | null; line: number | null; problem: string }[];
    model: string | null;
    looks: number;
    durationMs: number;
  } | null;
}

export function evidenceOf(report: Report, madeAt: string): Evidence {
  const { view, state, rounds, records, lastSeq, damage } = report;
  const { spec, ended } = state;
  const passed = rounds.findLast(({ facts }) => facts.outcome === "pass");
  return {
    kind: EVIDENCE_KIND,
    v: 1,
    taskId: view.taskId,
    goal: view.goal,
    state: view.state,
    madeAt,
    startTree: spec?.startTree ?? null,
    startCommit: spec?.startHead?.head ?? null,
    criteria:
      spec === null
        ? null
        : {
            where: spec.verify.where,
            runs: spec.verify.runs,
            setup: spec.verify.setup?.text ?? null,
            commands: spec.verify.commands.map((command) => command.text),
            carried: spec.verify.carry,
          },
    rounds: rounds.map(roundOf),
    roundsLeftOut: report.moreRounds,
    changes: rounds.at(-1)?.facts.changes ?? null,
    signOff:
      ended.kind !== "completed" || passed === undefined
        ? null
        : {
            treeId: ended.treeId,
            round: passed.facts.round,
            at: ended.at,
            verifier: passed.facts.by === "person" ? "asked for by a person" : "automatic",
            person: signatureOf(report),
          },
    log: { path: view.logPath, records, lastSeq, damage },
  };
}

function roundOf({ seq, at, facts, review }: Report["rounds"][number]): Round {
  const { round, by, outcome, message, treeId, where, durationMs } = facts;
  return {
    seq,
    at,
    round,
    by,
    outcome,
    reason: facts.reason ?? null,
    message,
    treeId,
    treeAfter: facts.treeAfter ?? null,
    where,
    durationMs,
    commands: facts.commands.map((command) => ({
      text: command.text,
      argv: command.argv,
      run: command.run,
      outcome: command.outcome,
      exitCode: command.exitCode,
      signal: command.signal,
      timedOut: command.timedOut,
      durationMs: command.durationMs,
      outputBytes: command.outputBytes,
      outputSha256: command.outputSha256,
      artifact: command.artifact ?? null,
    })),
    findings: facts.findings.map(({ kind, path, detail }) => ({ kind, path: path ?? null, detail })),
    versions: facts.versions ?? null,
    review: review === undefined ? null : reviewOf(review),
  };
}

function reviewOf({ seq, at, facts }: NonNullable<Report["rounds"][number]["review"]>): NonNullable<Round["review"]> {
  const { verdict, code, message, findings, model, looks, durationMs } = facts;
  return {
    seq,
    at,
    verdict,
    code: code ?? null,
    message,
    findings: findings.map(({ file, line, problem }) => ({ file: file ?? null, line: line ?? null, problem })),
    model: model ?? null,
    looks,
    durationMs,
  };
}

/** A person's own signature, where one was needed. */
export function signatureOf({ questions }: Pick<Report, "questions">): Signature | null {
  const signed: CallAnswer | undefined = questions.findLast((one) => one.signs)?.steps.at(-1);
  if (signed?.decision !== "approve" || signed.by !== "person") return null;
  return { at: signed.at, via: signed.via, note: signed.note ?? null };
}
