/**
 * The five answers that a person wants first: what was done, what was refused, what it cost, what waits for whom, how to
 * go on.
 */
import type { Report } from "./model.ts";
import { type Step, stepsOf } from "./steps.ts";
import { count, lengthOf, money, number } from "./words.ts";

export type OutcomeTone = "good" | "bad" | "wait" | "busy";

export interface Outcome {
  tone: OutcomeTone;
  /** Two or three words. */
  lead: string;
  /** One sentence with all five answers. */
  sentence: string;
  done: string;
  refused: string;
  cost: string;
  waits: string;
  steps: Step[];
}

export function outcomeOf(report: Report): Outcome {
  const { tone, lead, done } = standing(report);
  const refused = refusedWords(report);
  const cost = costWords(report);
  const waits = waitsWords(report);
  return {
    tone,
    lead,
    sentence: `${done}; ${lower(refused)}; ${cost}; ${lower(waits)}.`,
    done,
    refused,
    cost,
    waits,
    steps: stepsOf(report),
  };
}

function standing(report: Report): { tone: OutcomeTone; lead: string; done: string } {
  const { view, state } = report;
  const { used, failed, max } = view.rounds;
  const last = state.lastVerification;
  const tried =
    used === 0 ? "nothing was verified yet" : `${count(used, "verification")} ran, ${failed} of at most ${max} failed`;
  const work = view.turns === 0 ? "Claude finished no turn" : `Claude worked for ${count(view.turns, "turn")}`;
  const begun = view.state !== "created" && view.state !== "human_required" && view.state !== "paused";
  if (view.recoverable && begun)
    return {
      tone: "wait",
      lead: "Interrupted",
      done: `${work}, then its Pi went away while the task was ${stateOf(view.state)}; ${tried}`,
    };
  switch (view.state) {
    case "completed": {
      const round = state.ended.kind === "completed" ? (last?.round ?? used) : used;
      const by = last?.by === "person" ? ", asked for by a person" : "";
      return { tone: "good", lead: "Completed", done: `Done: the verification passed in round ${round}${by}` };
    }
    case "human_required":
      return {
        tone: "wait",
        lead: view.waitsFor === "approval" ? "Waits for your answer" : "Waits for you",
        done: `Not done yet: ${work}; ${tried}`,
      };
    case "failed":
      return { tone: "bad", lead: "Failed", done: `Not done: ${work}; ${tried}` };
    case "stopped":
      return { tone: "bad", lead: "Stopped", done: `Not done: it was stopped; ${work}; ${tried}` };
    case "failed_to_stop":
      return {
        tone: "bad",
        lead: "Not stopped whole",
        done: `Not done: it was stopped, but ${count(view.remaining.length, "process", "processes")} may still run; ${tried}`,
      };
    case "paused":
      return { tone: "wait", lead: "Paused", done: `Not done yet: it is paused; ${work}; ${tried}` };
    case "taken_over":
      return { tone: "wait", lead: "In your hands", done: `Not done yet: a person took it over; ${work}; ${tried}` };
    case "verifying":
      return { tone: "busy", lead: "Verifying", done: `Being verified: ${work}; ${tried}` };
    case "created":
    case "starting":
      return { tone: "busy", lead: "Starting", done: `Only begun: ${work}` };
    case "running":
    case "deciding":
    case "stopping":
      return {
        tone: "busy",
        lead: view.state === "stopping" ? "Stopping" : "At work",
        done: `Under way: ${work}; ${tried}`,
      };
  }
}

/** The tone of a state, for lists. */
export function outcomeTone(view: { state: Report["view"]["state"]; recoverable: boolean }): OutcomeTone {
  if (view.recoverable) return "wait";
  switch (view.state) {
    case "completed":
      return "good";
    case "failed":
    case "stopped":
    case "failed_to_stop":
      return "bad";
    case "human_required":
    case "paused":
    case "taken_over":
      return "wait";
    case "created":
    case "starting":
    case "running":
    case "deciding":
    case "verifying":
    case "stopping":
      return "busy";
  }
}

function refusedWords({ view, refusals, moreRefusals }: Report): string {
  const { allow, review, person, deny } = view.verdicts;
  const calls = allow + review + person + deny;
  if (calls === 0) return "No tool call was made";
  const refused = refusals.length + moreRefusals;
  return `Of ${count(calls, "tool call")} ${refused === 0 ? "none was refused" : `${number(refused)} ${refused === 1 ? "was" : "were"} refused`}`;
}

function costWords({ view, time }: Report): string {
  const worked = time.byDoing.working + time.byDoing.deciding + time.byDoing.verifying + time.byDoing.service;
  const all = Date.parse(view.lastEventAt) - Date.parse(view.createdAt);
  const took = Number.isNaN(all)
    ? ""
    : all - worked > Math.max(60_000, worked / 10)
      ? `${lengthOf(worked)} of work in ${lengthOf(all)}`
      : lengthOf(all);
  const worker = view.costUsd === null ? "no cost was reported" : `${money(view.costUsd)} by Claude's estimate`;
  const decider = view.decisions?.costUsd ? ` and about ${money(view.decisions.costUsd)} for decisions` : "";
  const paid = worker + decider;
  return took === "" ? paid : `${paid}, ${took}`;
}

function waitsWords({ view }: Report): string {
  const asked = view.requests.filter((request) => request.askedOf === "person").length;
  if (view.waitsFor === "approval")
    return asked === 0
      ? "A request waits for your answer"
      : `${count(asked, "request")} ${asked === 1 ? "waits" : "wait"} for your answer`;
  if (view.waitsFor === "result") return "Claude's result waits for your look at it";
  if (view.waitsFor === "person") return "It waits for you";
  if (view.recoverable || view.state === "paused" || view.state === "taken_over") return "It goes on when you say so";
  switch (view.state) {
    case "completed":
      return "Nothing waits for you";
    case "failed":
    case "stopped":
      return "Nothing waits for you; it goes on only if you recover it";
    default:
      return "Nothing waits for you now";
  }
}

export interface Budget {
  name: string;
  used: string;
  limit: string | null;
  /** 0 to 1, null without a limit. */
  share: number | null;
}

export function budgetsOf(report: Report): Budget[] {
  const { view, state } = report;
  const limits = state.spec?.limits;
  const { usedMs, ownerMono, extraMs } = state.budgets;
  const spent = usedMs + Math.max(0, state.mono - ownerMono);
  const wall = limits === undefined ? null : limits.wallMs + extraMs;
  const line = (
    name: string,
    used: number,
    limit: number | null | undefined,
    say: (n: number) => string = number,
  ): Budget => ({
    name,
    used: say(used),
    limit: limit === null || limit === undefined ? null : say(limit),
    share: limit === null || limit === undefined || limit <= 0 ? null : Math.min(1, used / limit),
  });
  return [
    line("Failing rounds", view.rounds.failed, limits?.maxRounds),
    line("Turns", view.turns, limits?.maxTurns),
    line("Time", spent, wall, lengthOf),
    ...(view.decisions ? [line("Decisions", view.decisions.used, view.decisions.max)] : []),
    ...(view.costUsd === null ? [] : [line("Cost", view.costUsd, null, money)]),
    ...(view.decisions?.costUsd ? [line("Cost of decisions", view.decisions.costUsd, null, money)] : []),
    ...(view.budget ? [line("Budget", view.budget.spentUsd, view.budget.usd, money)] : []),
  ];
}

function stateOf(state: string): string {
  return state.replaceAll("_", " ");
}

function lower(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
