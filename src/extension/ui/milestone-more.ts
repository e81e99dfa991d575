/** What a milestone shows when it is expanded: the whole call, the evidence, the facts of a start. Pure and bounded. */
import type { EventMap, TaskEvent } from "../../core/events.ts";
import { isKnown } from "../../core/fold.ts";
import type { RequestState } from "../../core/machine/state.ts";
import { oneLine, showControls } from "../../report/inert.ts";
import type { TaskUpdate } from "../../supervisor/api.ts";
import { callText, duration } from "../words-for-people.ts";

const MAX_LINES = 40;
const MAX_LINE = 400;
/** Lines of a command's output. */
const MAX_OUTPUT = 12;

/** Lines without control characters; the last one is when it happened. */
export function moreOf(update: TaskUpdate): string[] {
  if (!isKnown(update.event.type)) return [];
  const lines = detailOf(update.event as unknown as TaskEvent, update).flatMap((line) =>
    showControls(line).split("\n"),
  );
  const shown = lines
    .slice(0, MAX_LINES)
    .map((line) => (line.length > MAX_LINE ? `${line.slice(0, MAX_LINE)}…` : line));
  const left = lines.length - shown.length;
  const { seq, at } = update.event;
  return [
    ...shown,
    ...(left > 0 ? [`${left} more lines: /supervise report ${update.taskId}`] : []),
    `Record ${seq} of the log, ${at.slice(0, 19).replace("T", " ")} UTC`,
  ];
}

function detailOf(event: TaskEvent, { after }: TaskUpdate): string[] {
  switch (event.type) {
    case "worker.started": {
      const { executable, cwd, sessionId, permissionMode } = event.data;
      return [
        `Program ${executable.path}`,
        `In ${cwd}`,
        `Claude session ${sessionId}, permission mode ${permissionMode}`,
      ];
    }
    case "gate.verdict":
      return callLines(event.data);
    case "decision.made": {
      const { requestId, reason } = event.data;
      const request = requestId === undefined ? undefined : after.requests[requestId];
      return [...(reason === undefined ? [] : [reason]), ...(request === undefined ? [] : callLines(request))];
    }
    case "verify.finished":
      return event.data.commands.flatMap(commandLines);
    case "review.finished":
      return event.data.findings.map(({ file, line, problem }) => {
        const where = file === undefined ? "" : `${file}${line === undefined ? "" : `:${line}`}: `;
        return `${where}${problem}`;
      });
    case "verify.stale":
      return [`Passed: tree ${event.data.passedTree}`, `Now: tree ${event.data.presentTree}`];
    case "task.completed":
      return [`Round ${event.data.round}, tree ${event.data.treeId}`];
    case "task.failed":
      return [event.data.message];
    case "gate.incident":
      return [event.data.detail];
    case "stop.proven":
      return [`Proven by ${event.data.method} after ${duration(event.data.durationMs)}`];
    case "stop.failed":
      return event.data.remaining.map(({ kind, id, detail }) => `${kind} ${id} ${detail}`);
    default:
      return [];
  }
}

type Call = Pick<RequestState, "toolName" | "input" | "rule" | "reason" | "cwd">;

function callLines({ toolName, input, rule, reason, cwd }: Call): string[] {
  return [`${oneLine(toolName, 60)}:`, callText(toolName, input), `Rule ${rule}: ${reason}`, `In ${cwd}`];
}

function commandLines(command: EventMap["verify.finished"]["commands"][number]): string[] {
  const how = command.timedOut
    ? "timed out"
    : command.signal !== null
      ? `ended by ${command.signal}`
      : `exit code ${command.exitCode ?? "unknown"}`;
  const output = command.outputTail.trimEnd();
  return [
    `$ ${command.text}`,
    `${how} after ${duration(command.durationMs)}`,
    ...(output === "" ? [] : output.split("\n").slice(-MAX_OUTPUT)),
  ];
}
