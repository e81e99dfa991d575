/** The dashboard's words: rows, details, bars. Pure; every text from outside is stripped before it comes here. */
import { oneLine, showControls } from "../../report/inert.ts";
import type { RequestView, TaskRow, TaskView } from "../../supervisor/api.ts";
import { age, callText, count, money, stateWords } from "../words-for-people.ts";
import { budgetsOf, drawBar } from "./budgets.ts";
import type { Painter } from "./screen-port.ts";

const BAR = 20;

export function sessionRow(row: TaskRow, now: number): string {
  if (row.problem !== null) return `${row.taskId}  unreadable: ${oneLine(row.problem, 160)}`;
  const state = row.recoverable ? "recoverable" : stateWords(row.state);
  const facts = [state, age(row.createdAt, now), money(row.costUsd)].filter((fact) => fact !== null);
  return `${row.taskId}  ${facts.join(" · ")}  ${oneLine(row.goal, 120)}`;
}

export function requestRow(request: RequestView, now: number): string {
  const call = oneLine(callText(request.toolName, request.input), 160);
  const kept = request.deferred ? " · kept" : "";
  return `${request.requestId}  ${age(request.since, now)}${kept}  ${oneLine(request.toolName, 24)}: ${call}`;
}

/** The whole of a request: command, rule, folder; control characters visible. */
export function requestDetail(request: RequestView, paint: Painter): string[] {
  return [
    paint.strong(`${request.taskId} wants to use ${oneLine(request.toolName, 60)} (${request.requestId})`),
    ...callText(request.toolName, request.input).split("\n"),
    `Rule ${oneLine(request.rule, 100)}: ${oneLine(request.reason, 400)}`,
    ...(request.loss === "lost" ? [paint.warning("What it changes cannot be brought back.")] : []),
    `In ${oneLine(showControls(request.cwd), 300)}`,
  ];
}

export function taskHead(task: TaskView, now: number, paint: Painter): string[] {
  const cost = money(task.costUsd);
  const state = task.recoverable ? "recoverable" : stateWords(task.state);
  const tool = task.currentTool;
  const { verdicts: v } = task;
  return [
    `${paint.strong(task.taskId)}  ${paint.accent(state)} · ${task.mode} · ${age(task.createdAt, now)}${cost === null ? "" : ` · ${cost}`}`,
    oneLine(task.goal, 300),
    paint.dim(oneLine(task.cwd, 300)),
    ...(task.why === null ? [] : [paint.warning(oneLine(task.why, 400))]),
    tool === null
      ? paint.dim(`No tool runs; the last event is ${age(task.lastEventAt, now)} old.`)
      : `Runs ${oneLine(tool.toolName, 60)} for ${age(tool.since, now)}`,
    `${count(task.turns, "turn")} · calls: ${v.allow} allowed, ${v.review + v.person} asked, ${v.deny} denied`,
  ];
}

/** Every budget that has an end, as a bar of what is used. */
export function budgetBars(task: TaskView, paint: Painter): string[] {
  return budgetsOf(task).map(({ what, used, said }) => {
    const drawn = drawBar(used, BAR);
    return `${used >= 0.8 ? paint.warning(drawn) : drawn} ${oneLine(what, 40)}: ${said}`;
  });
}
