/** `/supervise status [ID]`: where a task stands, what is left of its limits, who must act. */
import type { TaskView } from "../../supervisor/api.ts";
import { emergencyStopCommand } from "../../supervisor/emergency-command.ts";
import type { Command } from "../answer.ts";
import { age, callLine, count, duration, money, nextStep, safe, section, stateWords } from "../words-for-people.ts";

export const status: Command<"status"> = async ({ call }, supervisor) => {
  const taskId = call.args[0] ?? (await supervisor.defaultTask());
  if (taskId === null)
    return {
      ok: false,
      reason: "no-task",
      message: 'There is no task yet. Start one: /supervise start <goal> --verify "<cmd>".',
    };
  const found = await supervisor.status(taskId);
  if (!found.ok) return found;
  const emergency = emergencyStopCommand(process.env);
  const text = `${statusText(found.task)}\nStop everything, from any shell: ${emergency}`;
  return { ok: true, fields: { ...found.task, emergencyStopCommand: emergency }, text };
};

export function statusText(task: TaskView, now: number = Date.now()): string {
  const cost = money(task.costUsd);
  const spent = [
    count(task.turns, "turn"),
    `round ${task.rounds.used} (${task.rounds.failed} of ${task.rounds.max} failing)`,
    ...(cost === null ? [] : [cost]),
  ];
  const { allow, review, person, deny } = task.verdicts;
  const next = nextStep(task);
  const lines = [
    `${task.taskId}: ${stateWords(task.state)}${task.why === null ? "" : `. ${safe(task.why)}`}`,
    ...(next === null ? [] : [next]),
    ...(task.recoverable ? [`Its Pi is gone; go on with it: /supervise recover ${task.taskId}`] : []),
    `Goal: ${safe(task.goal)}`,
    `In ${safe(task.cwd)}, ${task.mode}, begun ${age(task.createdAt, now)} ago, last event ${age(task.lastEventAt, now)} ago`,
    `So far: ${spent.join(", ")}; calls: ${allow} allowed, ${review + person} asked about${task.asksPer100Calls === null ? "" : ` (${task.asksPer100Calls} of 100)`}, ${deny} denied`,
    ...(task.faultReport === null
      ? []
      : [
          `Fault report: ${safe(task.faultReport)}`,
          `Read it, then: /supervise resume ${task.taskId} --fault ${task.reason}`,
        ]),
    ...(task.automation === "off" ? ["Automation is off (supervisor.json): only what you ask for is done"] : []),
    ...(task.decisions === null ? [] : [`Decider: ${decisionsText(task.decisions)}`]),
    ...(task.budget === null
      ? []
      : [`Budget: ${money(task.budget.spentUsd)} of ${money(task.budget.usd)} (an estimate, worker and decider)`]),
    ...(task.currentTool === null
      ? []
      : [`Now: ${safe(task.currentTool.toolName)} for ${age(task.currentTool.since, now)}`]),
    ...section(
      "Background:",
      task.background.map((job) => safe(`${job.kind} ${job.description}`)),
    ),
    ...section(
      "Waiting requests:",
      task.requests.map(
        (request) =>
          `${request.requestId} ${callLine(request.toolName, request.input, 100)} (${request.rule}, ${age(request.since, now)}${request.deferred ? ", kept over restarts" : ""}${request.askedOf === "decider" && !request.deferred ? ", the decider is asked" : ""})`,
      ),
    ),
    ...(task.lastVerification === null ? [] : [`Last verification: ${safe(task.lastVerification.message)}`]),
    ...section(
      "Limits:",
      task.deadlines.map((limit) => `${limit.what}: ${duration(limit.leftMs)} of ${duration(limit.length)} left`),
    ),
    ...section(
      "Still running:",
      task.remaining.map((rest) => safe(`${rest.kind} ${rest.id} ${rest.detail}`)),
    ),
    ...(task.claudeSessionId === null
      ? []
      : [`Claude session ${task.claudeSessionId}${task.model === null ? "" : `, model ${safe(task.model)}`}`]),
    ...(task.owner === null || task.owner.mine
      ? []
      : [`Owner: process ${task.owner.pid} on ${safe(task.owner.host)}${task.owner.alive ? "" : " (gone)"}`]),
    `Log: ${safe(task.logPath)}`,
    `Stop: ${task.stopCommand}`,
  ];
  return lines.join("\n");
}

function decisionsText({ used, max, costUsd, byOutcome }: NonNullable<TaskView["decisions"]>): string {
  const cost = money(costUsd);
  const outcomes = Object.entries(byOutcome).map(([outcome, times]) => `${outcome} ${times}`);
  const parts = [`${used} of ${max} decisions`, ...outcomes, ...(cost === null ? [] : [`about ${cost}`])];
  return parts.join(", ");
}
