/** What to type next: in Pi, and in a shell without this program. */
import type { Report } from "./model.ts";

export interface Step {
  /** What it does, a few words. */
  what: string;
  /** What to type. */
  command: string;
  /** Typed in a shell and not in Pi. */
  shell?: true;
}

/** What can be typed next, the most likely first. */
export function stepsOf(report: Report): Step[] {
  const { view, state } = report;
  const id = view.taskId;
  const steps: Step[] = [];
  const step = (what: string, command: string) => void steps.push({ what, command });
  if (view.state === "failed_to_stop") {
    step("Stop it again once the rest is gone", `/supervise stop ${id}`);
    return steps;
  }
  if (view.waitsFor === "approval") {
    for (const request of view.requests.filter(({ askedOf }) => askedOf === "person").slice(0, 3)) {
      if (request.kind === "question")
        step("Answer the question", `/supervise answer ${request.requestId} <label or text>`);
      else
        step(request.kind === "sign-off" ? "Sign it" : "Let the call run", `/supervise approve ${request.requestId}`);
      step("Refuse it", `/supervise deny ${request.requestId} [reason]`);
    }
    if (view.requests.length > 3) step("See all that waits", "/supervise approvals");
    step("End the task", `/supervise stop ${id}`);
    return steps;
  }
  if (state.hold?.fault === true) {
    step(
      "Automation on again, when you have read the incident below",
      `/supervise resume ${id} --fault ${state.hold.reason}`,
    );
    step("End it", `/supervise stop ${id}`);
  } else if (view.state === "human_required") {
    if (view.recoverable) step("Go on with it", `/supervise recover ${id}`);
    step("Verify it now", `/supervise verify ${id}`);
    step("Tell Claude what to do", `/supervise send ${id} <text>`);
    step("End it", `/supervise stop ${id}`);
  } else if (view.state === "paused") step("Go on with it", `/supervise resume ${id}`);
  else if (view.state === "taken_over") step("Give it back", `/supervise handback ${id} [note]`);
  else if (view.recoverable) {
    step("Go on with it", `/supervise recover ${id}`);
    step("End it", `/supervise stop ${id}`);
  } else if (view.state === "failed" || view.state === "stopped") {
    step("Go on with it", `/supervise recover ${id}`);
    step("Begin again in a fresh session", `/supervise recover ${id} --fresh`);
  } else if (view.state !== "completed") {
    step("Where it stands now", `/supervise status ${id}`);
    step("End it", `/supervise stop ${id}`);
  }
  const head = state.spec?.startHead?.head;
  if (head !== undefined && view.turns > 0)
    steps.push({
      what: "See what changed",
      command: `git -C ${shellWord(view.cwd)} diff ${head.slice(0, 12)}`,
      shell: true,
    });
  if (view.claudeSessionId !== null && view.turns > 0 && state.spec?.transport !== "process-pipe")
    steps.push({
      what: "Talk to this Claude session yourself, without the gate",
      command: `cd ${shellWord(view.cwd)} && claude --resume=${view.claudeSessionId}`,
      shell: true,
    });
  return steps;
}

/** How to repeat the verification: in Pi, and by hand. */
export function repeatOf({ view, state }: Report): Step[] {
  const verify = state.spec?.verify;
  if (verify === undefined) return [];
  const setup = verify.setup === undefined ? [] : [verify.setup.text];
  const commands = [...setup, ...verify.commands.map((command) => command.text)];
  return [
    ...(view.state === "completed" || view.state === "failed" || view.state === "stopped"
      ? []
      : [{ what: "In Pi, by the verifier", command: `/supervise verify ${view.taskId}` }]),
    ...commands.slice(0, 20).map(
      (command, index): Step => ({
        what: index === 0 ? "By hand" : "and",
        command: `cd ${shellWord(verify.cwd)} && ${command}`,
        shell: true,
      }),
    ),
  ];
}

function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
