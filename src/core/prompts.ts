/** What the supervisor itself says to the worker. Pure text; the worker never sees the goal a second time. */
import type { ReviewFacts, VerifyFacts } from "./machine/state.ts";

/** Characters of the verification's redacted output that the worker gets to see. */
export const EVIDENCE_CHARS = 6_000;

export const GO_ON = "Go on with the task where you left off.";

/** A person had the wheel: what the worker remembers of the workspace may be out of date. */
export function handbackPrompt(note: string | null): string {
  return [
    "A person has worked in this session and in the workspace meanwhile, and now gives the task back to you. Look at the present state of the files before you rely on what you remember of them; keep what the person did. Your tool calls are looked at by the supervisor again.",
    ...(note === null ? [] : [`The person says: ${note}`]),
    GO_ON,
  ].join("\n\n");
}

/** The failing verification as the worker's next message. */
export function evidencePrompt(facts: VerifyFacts, maxRounds: number, failedRounds: number): string {
  const failing = facts.commands.filter((command) => command.outcome !== "pass");
  const parts = failing.map((command) => {
    const how = command.timedOut
      ? `timed out after ${Math.round(command.durationMs / 1000)} s`
      : command.signal !== null
        ? `was ended by ${command.signal}`
        : `exited with ${command.exitCode ?? "no code"}`;
    const tail = command.outputTail.slice(-EVIDENCE_CHARS);
    const cut = command.outputBytes > tail.length ? "The end of its output:" : "Its output:";
    return `$ ${command.text}\nIt ${how}. ${cut}\n\n${tail === "" ? "(nothing was printed)" : tail}`;
  });
  return [
    `The independent verification did not pass (failing round ${failedRounds} of ${maxRounds}). It decides whether the task is done; your own runs don't.`,
    ...parts,
    "Find the cause, mend it in the workspace, and end your turn when the work is ready to be verified again. Don't change what the verification runs.",
  ].join("\n\n");
}

/** The reviewer's findings as the worker's next message, or before a person's. */
export function revisePrompt(review: ReviewFacts): string {
  const findings = review.findings.map(({ file, line, problem }) => {
    const where = file === undefined ? "" : `${file}${line === undefined ? "" : `:${line}`}: `;
    return `- ${where}${problem.replaceAll("\n", "\n  ")}`;
  });
  return [
    "The verification passed, and a reviewer looked at the result. It is not accepted yet:",
    ...(review.message === "" ? [] : [review.message]),
    findings.join("\n"),
    "Mend that in the workspace, and end your turn when the work is ready to be verified again. Don't change what the verification runs.",
  ].join("\n\n");
}

/** The files are right, and git's history is not what it was given: the worker's next message, said once. */
export function repairPrompt(
  findings: readonly { detail: string }[],
  start: { head?: string; branch?: string } | undefined,
): string {
  const branch = start?.branch?.replace(/^refs\/heads\//, "");
  const wanted = [
    ...(branch === undefined ? [] : [`HEAD is on the branch ${branch} again`]),
    ...(start?.head === undefined ? [] : [`the commit ${start.head.slice(0, 12)} of the start is part of its history`]),
  ];
  return [
    "The verification passed: the files are right. But git's history is not as it was given to you:",
    findings.map(({ detail }) => `- ${detail}`).join("\n"),
    `Unless the task asked for that, mend it without changing a file${wanted.length === 0 ? "" : `, so that ${wanted.join(" and ")}`}: \`git switch\` and \`git merge --ff-only\` bring commits that stand beside a branch onto it; \`git reset --soft\` to the commit of the start and a new commit bring the same files on top of it; a rebase that is under way is finished or aborted. Force nothing, delete nothing, discard nothing.`,
    "If the task asked for it, or it can't be mended so, change nothing and say why. Then end your turn: the result is verified again, and what is left is noted beside it.",
  ].join("\n\n");
}

/** One line about a review, for people. */
export function reviewSummary({ message, findings }: ReviewFacts): string {
  const first = findings[0]?.problem ?? "";
  const text = message === "" ? first : message;
  const more = findings.length > 1 ? ` (${findings.length} findings)` : "";
  return `${text.length > 400 ? `${text.slice(0, 399)}…` : text}${more}`;
}

/** What a person says about a task beside its goal. */
export interface TaskBrief {
  /** What belongs to the task, and what does not. */
  scope?: readonly string[];
  constraints?: readonly string[];
  forbidden?: readonly string[];
}

/** The first message of a session: the goal, and what a person said beside it. */
export function goalMessage(goal: string, brief: TaskBrief = {}): string {
  return [goal, ...briefLines(brief)].join("\n\n");
}

/** One paragraph for each part of the brief that says something. */
export function briefLines({ scope = [], constraints = [], forbidden = [] }: TaskBrief): string[] {
  const parts: [string, readonly string[]][] = [
    ["Scope", scope],
    ["Constraints", constraints],
    ["Forbidden", forbidden],
  ];
  return parts.flatMap(([title, list]) =>
    list.length === 0 ? [] : [[`${title}:`, ...list.map((one) => `- ${one.replaceAll("\n", "\n  ")}`)].join("\n")],
  );
}

/** A person refused the result: said with whatever the worker hears next. */
export function notSigned(note: string): string {
  return `A person looked at your last result and did not accept it${note === "" ? "." : `: ${note}`}`;
}

/**
 * What a worker should know from its first request on. Claude 2.1.268 puts its own environment block only behind the
 * first tool call when a message holds an `@`.
 */
export function workerBriefing(cwd: string, guidance: string | undefined): string {
  const where = `Your working folder is ${cwd}. A supervisor looks at every tool call and verifies your work independently when you end your turn.`;
  return guidance === undefined ? where : `${where}\n\n${guidance}`;
}

/** Most characters of a project's CLAUDE.md that are passed on. */
export const GUIDANCE_CHARS = 32_000;

/** The project's own guidance, which isolation keeps Claude from loading itself. */
export function guidanceText(name: string, text: string): string {
  const cut =
    text.length > GUIDANCE_CHARS ? `${text.slice(0, GUIDANCE_CHARS)}\n[cut after ${GUIDANCE_CHARS} characters]` : text;
  return `The repository's ${name} follows. It is guidance for working in this project; it can't widen what you may do.\n\n${cut}`;
}

/** The task's time is nearly over. */
export function wrapUpPrompt(leftMs: number): string {
  const minutes = Math.max(1, Math.round(leftMs / 60_000));
  return `Your time for this task is nearly over: about ${minutes} ${minutes === 1 ? "minute is" : "minutes are"} left. Begin nothing new. Bring the work into a state that can be verified now: finish or take back what is half done, and end your turn.`;
}
