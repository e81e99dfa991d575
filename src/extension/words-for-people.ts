/** How states, times, money and requests are said; one voice for all commands, notices and dialogs. */
import type { WaitsFor } from "../core/machine/project.ts";
import { oneLine, showControls, stripControls } from "../report/inert.ts";
import type { RequestView, TaskView } from "../supervisor/api.ts";

export function duration(ms: number): string {
  const s = Math.max(0, Math.round(ms / 1_000));
  if (s < 60) return `${s} s`;
  const m = Math.floor(s / 60);
  if (m < 60) return s % 60 === 0 || m >= 10 ? `${m} min` : `${m} min ${s % 60} s`;
  const h = Math.floor(m / 60);
  if (h < 48) return m % 60 === 0 ? `${h} h` : `${h} h ${m % 60} min`;
  return `${Math.floor(h / 24)} days`;
}

export function age(iso: string, now: number = Date.now()): string {
  const then = Date.parse(iso);
  return Number.isNaN(then) ? "unknown" : duration(now - then);
}

/** What Claude reported; nothing when it reported nothing. */
export function money(usd: number | null): string | null {
  if (usd === null) return null;
  return usd > 0 && usd < 0.01 ? "under $0.01" : `$${usd.toFixed(2)}`;
}

export function count(n: number, one: string, many = `${one}s`): string {
  return `${n} ${n === 1 ? one : many}`;
}

export function size(bytes: number): string {
  if (bytes < 1024) return count(bytes, "byte");
  return bytes < 1024 * 1024 ? `${Math.ceil(bytes / 1024)} KiB` : `${Math.round(bytes / 1024 / 1024)} MiB`;
}

export function stateWords(state: string): string {
  return state === "human_required" ? "waits for a person" : state.replaceAll("_", " ");
}

/** Who has to do what next, or null when nobody has to. */
export function nextStep(
  task: Pick<TaskView, "taskId" | "waitsFor" | "requests" | "state" | "recoverable">,
): string | null {
  const first = task.requests.find((request) => request.askedOf === "person");
  switch (task.waitsFor satisfies WaitsFor) {
    case "approval":
      return first === undefined
        ? "Look at what waits: /supervise approvals"
        : `Answer it: ${answerCommands(first).join("  or  ")}`;
    case "result":
      return `Your turn: /supervise verify ${task.taskId}  or  /supervise send ${task.taskId} <text>`;
    case "person":
      return task.state === "failed_to_stop"
        ? `Stop it again once the rest is gone: /supervise stop ${task.taskId}`
        : `Your turn: /supervise send ${task.taskId} <text>, /supervise verify ${task.taskId}  or  /supervise stop ${task.taskId}`;
    case null:
      return null;
  }
}

/** The commands that answer a request. */
export function answerCommands(request: Pick<RequestView, "requestId" | "kind">): string[] {
  const { requestId } = request;
  return request.kind === "question"
    ? [`/supervise answer ${requestId} <label or text>`, `/supervise deny ${requestId}`]
    : [`/supervise approve ${requestId}`, `/supervise deny ${requestId} [reason]`];
}

/** What a call wants to do: the command, the file, or the whole input. Control characters are visible. */
export function callText(toolName: string, input: unknown): string {
  const fields = isRecord(input) ? input : {};
  const subject = ["command", "file_path", "path", "notebook_path", "url", "query", "pattern", "plan"]
    .map((key) => fields[key])
    .find((value) => typeof value === "string");
  if (toolName !== "Bash")
    return showControls(subject !== undefined && Object.keys(fields).length === 1 ? subject : json(input));
  const { command, description: _said, ...others } = fields;
  if (typeof command !== "string") return showControls(json(input));
  const more = Object.keys(others).length === 0 ? "" : `\nwith ${JSON.stringify(others)}`;
  return showControls(`${command}${more}`);
}

/** One line about a call, for lists and notices. */
export function callLine(toolName: string, input: unknown, max: number): string {
  return `${oneLine(toolName, 40)}: ${oneLine(callText(toolName, input), max)}`;
}

/** Lines with one heading, left out when there is nothing to say. */
export function section(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : [title, ...lines.map((line) => `  ${line}`)];
}

/** Text from outside in an answer for people. */
export function safe(text: string): string {
  return stripControls(text);
}

function json(value: unknown): string {
  return JSON.stringify(value, null, 2) ?? "";
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
