/** `/supervise start <goal>`: one task begins. In print and JSON mode the answer comes at its end or when it waits. */
import type { Failure } from "../../core/result.ts";
import type { StartAnswer, StartInput, TaskView } from "../../supervisor/api.ts";
import { emergencyStopCommand } from "../../supervisor/emergency-command.ts";
import { type Answer, type BadAnswer, type Command, EXIT, type Scene, usageError } from "../answer.ts";
import { usageOf } from "../parse/spec.ts";
import { whileShown } from "../progress.ts";
import { askForVerification } from "../ui/ask-verification.ts";
import { count, money, nextStep, safe, stateWords } from "../words-for-people.ts";

export const start: Command<"start"> = async (scene, supervisor) => {
  const { flags } = scene.call;
  if (flags.review !== undefined && flags["no-review"] !== undefined)
    return usageError("usage", `--review and --no-review exclude each other. ${usageOf("start")}`);
  const { port, call } = scene;
  const begin = () =>
    call.json ? supervisor.start(input) : whileShown(port, "starting a task", () => supervisor.start(input));
  let input = inputOf(scene);
  let started = await begin();
  while (!started.ok) {
    const more = await settle(scene, input, started);
    if (more === undefined) return refused(started);
    input = { ...input, ...more };
    started = await begin();
  }
  if (scene.port.interactive) return begun(started);
  return ended(started, await supervisor.settled(started.taskId));
};

/** What a person adds to a start that was refused for want of it; undefined when nobody adds anything. */
async function settle(
  scene: Scene<"start">,
  input: StartInput,
  { reason, message }: Failure,
): Promise<Partial<StartInput> | undefined> {
  if (scene.call.json || !scene.port.interactive) return undefined;
  if (reason === "verify-missing" && input.verify.length === 0) {
    const verify = await askForVerification(scene.port, input.cwd, scene.cwd);
    return verify && { verify };
  }
  if (reason === "ungated" && input.ungated === undefined)
    return (await acceptsUngated(scene, message)) ? { ungated: "dialog" } : undefined;
  return undefined;
}

function refused(failed: Failure): BadAnswer {
  return failed.reason === "verify-missing" ? { ...failed, exitCode: EXIT.usage } : failed;
}

/** A transport without a gate was asked for, in words or by the configuration: the person says that they know. */
async function acceptsUngated({ port }: Scene<"start">, message: string): Promise<boolean> {
  const accept = "Start without a gate";
  const options = ["Don't start", accept];
  return (await port.select(message, options, new AbortController().signal)) === accept;
}

function inputOf({ call, cwd, trustedProject, port }: Scene<"start">): StartInput {
  const { flags } = call;
  /* Where nobody can be asked, a request is put off at once. */
  const patience = flags.patience ?? (port.interactive ? undefined : 0);
  return {
    goal: call.rest,
    from: cwd,
    verify: flags.verify ?? [],
    ...(trustedProject !== undefined && { trustedProject }),
    ...(flags.review !== undefined && { review: true }),
    ...(flags["no-review"] !== undefined && { review: false }),
    ...(flags.from !== undefined && { taskFile: flags.from }),
    ...(flags.cwd !== undefined && { cwd: flags.cwd }),
    ...(flags.mode !== undefined && { mode: flags.mode }),
    ...(flags.transport !== undefined && { transport: flags.transport }),
    ...(flags.ungated !== undefined && { ungated: "flag" as const }),
    ...(flags.worktree !== undefined && { worktree: true as const }),
    ...(flags.trust !== undefined && { trust: flags.trust }),
    ...(flags.profile !== undefined && { profile: flags.profile }),
    ...(flags.model !== undefined && { model: flags.model }),
    ...(flags["max-rounds"] !== undefined && { maxRounds: flags["max-rounds"] }),
    ...(flags["max-turns"] !== undefined && { maxTurns: flags["max-turns"] }),
    ...(flags.timeout !== undefined && { timeoutMs: flags.timeout }),
    ...(flags["quiet-timeout"] !== undefined && { quietTimeoutMs: flags["quiet-timeout"] }),
    ...(patience !== undefined && { patienceMs: patience }),
    ...(flags["budget-usd"] !== undefined && { budgetUsd: flags["budget-usd"] }),
    ...(flags["max-decisions"] !== undefined && { maxDecisions: flags["max-decisions"] }),
    ...(flags["decision-model"] !== undefined && { decisionModel: flags["decision-model"] }),
    ...(flags["verify-in"] !== undefined && { verifyIn: flags["verify-in"] }),
    ...(flags["verify-setup"] !== undefined && { verifySetup: flags["verify-setup"] }),
    ...(flags["verify-runs"] !== undefined && { verifyRuns: flags["verify-runs"] }),
  };
}

function begun(started: StartAnswer): Answer {
  const { taskId, cwd, mode, stopCommand, notices } = started;
  const how =
    mode === "auto"
      ? "The decider answers what the gate leaves to judgement, and results are verified; the rest is asked of you."
      : `You answer what the gate does not, and run /supervise verify ${taskId} when a result is there.`;
  const text = [
    `Task ${taskId} has begun in ${safe(cwd)} (${mode}).`,
    how,
    ...notices.map((notice) => `Note: ${safe(notice)}`),
    `Look: /supervise status ${taskId}`,
    `Stop: ${stopCommand}`,
    `Stop everything, from any shell: ${emergencyStopCommand(process.env)}`,
  ];
  return { ok: true, fields: fieldsOf(started), text: text.join("\n") };
}

function ended(started: StartAnswer, task: TaskView): Answer | BadAnswer {
  const fields = { ...task, ...fieldsOf(started) };
  const spent = [count(task.turns, "turn"), money(task.costUsd)].filter((part) => part !== null).join(", ");
  const why = task.why === null ? "" : ` ${safe(task.why)}`;
  switch (task.state) {
    case "completed":
      return { ok: true, fields, text: `Task ${task.taskId} is completed: the verification passed. ${spent}.` };
    case "failed":
    case "stopped":
    case "failed_to_stop":
      return {
        ok: false,
        fields,
        reason: task.reason ?? task.state.replaceAll("_", "-"),
        message: `Task ${task.taskId} has ${stateWords(task.state)}.${why} ${spent}. Read /supervise report ${task.taskId}.`,
      };
    default:
      return {
        ok: true,
        fields,
        exitCode: EXIT.waits,
        text: `Task ${task.taskId} waits for you.${why} ${nextStep(task) ?? ""}`.trim(),
      };
  }
}

function fieldsOf(started: StartAnswer): object {
  const { taskId, cwd, mode, stopCommand, notices } = started;
  return { taskId, cwd, mode, stopCommand, emergencyStopCommand: emergencyStopCommand(process.env), notices };
}
