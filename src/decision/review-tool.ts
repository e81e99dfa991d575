/** The one tool by which a reviewer answers, and how strictly its call is read. */
import { Type } from "typebox";
import type { DecideTool, DecisionCall } from "../core/contracts/decision.ts";
import type { ReviewFault, ReviewFinding, ReviewVerdict } from "../core/contracts/review.ts";
import { cut, visible } from "../core/text.ts";
import { fieldOf, textOf } from "./questions.ts";

/** Characters of the summary and of one finding; longer ones are cut, not refused. */
const MAX_SUMMARY = 2_000;
const MAX_PROBLEM = 1_000;
const MAX_FILE = 300;
const MAX_FINDINGS = 40;

const VERDICTS = ["pass", "revise", "person"] as const satisfies readonly ReviewVerdict[];

export const reviewTool: DecideTool = {
  name: "review",
  description:
    "Gives the one verdict about the candidate. Call it exactly once, when you have looked; nothing else counts.",
  parameters: Type.Object({
    verdict: Type.String({
      enum: [...VERDICTS],
      description:
        "pass: it does what was asked. revise: the worker must change something; say what in findings. person: only the person can say.",
    }),
    summary: Type.String({ description: "One to three sentences: why." }),
    findings: Type.Optional(
      Type.Array(
        Type.Object({
          file: Type.Optional(Type.String({ description: "Path inside the tree." })),
          line: Type.Optional(Type.Integer()),
          problem: Type.String({ description: "What is wrong, and what would be right." }),
        }),
        { description: "With revise: what has to change. Else: what a person should know." },
      ),
    ),
  }),
};

export type Judged =
  | { verdict: ReviewVerdict; summary: string; findings: ReviewFinding[] }
  | { verdict: "unavailable"; code: ReviewFault; reason: string };

/** What the calls of a turn mean; they are redacted already. Anything but one clear verdict is `unavailable`. */
export function judgeReview(calls: readonly DecisionCall[]): Judged {
  const [call, second] = calls;
  if (call === undefined) return fault("no-call", "The reviewer gave no verdict: it never called its tool.");
  if (second !== undefined) return fault("two-calls", `The reviewer gave ${calls.length} verdicts at once.`);
  if (call.name !== reviewTool.name) return fault("unclear", "The reviewer called another tool than review.");
  const given = call.arguments;
  const verdict = VERDICTS.find((one) => one === textOf(given, "verdict"));
  if (verdict === undefined) return fault("unclear", "The reviewer's call holds no verdict that exists.");
  const summary = clean(textOf(given, "summary"), MAX_SUMMARY);
  const findings = findingsIn(fieldOf(given, "findings"));
  if (findings === undefined) return fault("unclear", "The reviewer's findings can't be read.");
  if (verdict !== "revise" || findings.length > 0) return { verdict, summary, findings };
  if (summary === "") return fault("unclear", "The reviewer wants changes, but did not say which.");
  return { verdict, summary, findings: [{ problem: cut(summary, MAX_PROBLEM) }] };
}

function fault(code: ReviewFault, reason: string): Judged {
  return { verdict: "unavailable", code, reason };
}

/** Undefined when one of them is no finding: a verdict whose grounds were lost is no clear one. */
function findingsIn(given: unknown): ReviewFinding[] | undefined {
  if (given === undefined || given === null) return [];
  if (!Array.isArray(given)) return undefined;
  const findings: ReviewFinding[] = [];
  for (const entry of given.slice(0, MAX_FINDINGS)) {
    const problem = clean(typeof entry === "string" ? entry : textOf(entry, "problem"), MAX_PROBLEM);
    if (problem === "") return undefined;
    const file = clean(textOf(entry, "file"), MAX_FILE);
    const line = fieldOf(entry, "line");
    findings.push({
      ...(file === "" ? {} : { file }),
      ...(Number.isSafeInteger(line) && Number(line) > 0 ? { line: Number(line) } : {}),
      problem,
    });
  }
  return findings;
}

function clean(text: string | undefined, most: number): string {
  return cut(visible((text ?? "").slice(0, 2 * most)), most).trim();
}
