/** The facts at the head of every report. What Claude did not report is left out, never shown as 0. */
import type { History } from "./history.ts";

export function summary({ view, state }: History): [string, string][] {
  const { allow, review, person, deny } = view.verdicts;
  const asks = Object.entries(view.asksByRule)
    .sort(([, a], [, b]) => b - a)
    .slice(0, 20)
    .map(([rule, times]) => `${rule} ${times}`);
  const verification = state.spec?.verify;
  const last = state.lastVerification;
  return [
    ["State", view.why === null ? view.state : `${view.state}: ${view.why}`],
    ["Folder", view.cwd],
    ["Mode", view.mode],
    ["Time", `${view.createdAt} to ${view.lastEventAt}`],
    ["Turns", String(view.turns)],
    ["Rounds", `${view.rounds.used} verifications, ${view.rounds.failed} of ${view.rounds.max} failing`],
    ...row("Cost as Claude estimates it", view.costUsd === null ? null : `$${view.costUsd.toFixed(4)}`),
    ["Calls", `${allow} allowed, ${review + person} asked about, ${deny} denied`],
    ...row("Not allowed at once, by rule", asks.length === 0 ? null : asks.join(", ")),
    ...row("Last verification", last === null ? null : `${last.outcome}: ${last.message} (tree ${last.treeId})`),
    ...row("Model", view.model),
    ...row("Claude session", view.claudeSessionId),
    ...row(
      "Repeat the verification",
      verification === undefined
        ? null
        : `/supervise verify ${view.taskId}, or in ${verification.cwd}: ${verification.commands.map((command) => command.text).join(" ; ")}`,
    ),
    ["Log", view.logPath],
  ];
}

function row(name: string, value: string | null): [string, string][] {
  return value === null ? [] : [[name, value]];
}
