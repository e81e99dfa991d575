/** Status and outcomes in words. Everything that comes from a file is printed inert. */
import { inert } from "./reason.ts";
import type { Remaining } from "./record.ts";
import type { RecordReport, StopReport } from "./request.ts";
import { type ControlStatus, LIMITS, type RecordStatus } from "./status.ts";

export function showStatus(status: ControlStatus, scope: string): string {
  const { held } = status;
  const lines = [
    held === undefined ? `No stop is in force (epoch ${status.epoch}).` : `${held.message} (epoch ${status.epoch})`,
  ];
  if (held !== undefined) lines.push(`  ${held.remedy}`);
  for (const record of status.records) lines.push(...showRecord(record));
  if (status.records.length === 0) lines.push("Nothing is recorded as running.");
  for (const fault of status.faults) lines.push(`Fault: ${fault}`);
  if (status.inForce) {
    lines.push(`To lift it: pi-claude-supervisor-control ${scope} resume --epoch ${status.epoch} --reason "why"`);
  }
  lines.push("Limits:", ...LIMITS.map((limit) => `  ${limit}`));
  return text(lines);
}

function showRecord(record: RecordStatus): string[] {
  const lines = [
    `${record.identity}: ${record.state}, epoch ${record.epoch}${record.ownerAlive ? "" : ", its supervisor is gone"}`,
  ];
  if (record.reason !== undefined) {
    const who = record.actor === undefined ? "" : ` by ${record.actor.kind} (user ${record.actor.uid}, claimed)`;
    lines.push(`  ${record.desired} asked${who}: ${record.reason}`);
  }
  const times = [
    ["asked", record.requestedAt],
    ["acknowledged", record.acknowledgedAt],
    ["verified", record.verifiedAt],
  ].flatMap(([word, time]) => (time === undefined ? [] : [`${word} ${time}`]));
  if (times.length > 0) lines.push(`  ${times.join(", ")}`);
  if (record.unacknowledgedMs !== undefined) lines.push(`  not acknowledged for ${record.unacknowledgedMs} ms`);
  for (const step of record.cleanup) lines.push(`  ${step.resource}: ${step.step}: ${step.outcome} (${step.detail})`);
  lines.push(...showRemaining(record.remaining));
  if (record.evidenceStatus !== "none") {
    lines.push(`  evidence ${record.evidenceStatus}${record.evidenceDetail ? `: ${record.evidenceDetail}` : ""}`);
  }
  return lines;
}

export function showReport(report: StopReport): string {
  const done = report.verb === "stop" ? "stopped" : "paused";
  const lines = report.records.map(showOutcome);
  for (const record of report.records) lines.push(...showRemaining(record.remaining));
  for (const note of report.notes) lines.push(`Note: ${note}`);
  if (report.durable === "marker") lines.push("Note: an empty file stands for the latch, which could not be written.");
  if (report.durable === "no")
    lines.push("The latch could NOT be written: a new start is not held back. Free the disk.");
  if (report.alreadyEnded) lines.push("It had ended already.");
  const proof = report.exitCode === 1 ? "NOT everything is proven gone." : `Everything is ${done} and proven gone.`;
  lines.push(`${proof} Epoch ${report.epoch}, ${report.durationMs} ms.`);
  return text(lines);
}

function showOutcome(record: RecordReport): string {
  const owners = {
    gone: "its supervisor was gone",
    answered: "its supervisor did it",
    silent: "its supervisor did NOT answer, ended from outside",
  };
  return `${record.identity}: ${record.state} (${owners[record.owner]})`;
}

function showRemaining(remaining: readonly Remaining[]): string[] {
  return remaining.map((entry) => `  remains: ${entry.kind} ${entry.id} ${entry.identity}`);
}

/** Lines that end in one newline, control characters made visible. */
export function text(lines: readonly string[]): string {
  return `${lines.map(inert).join("\n")}\n`;
}
