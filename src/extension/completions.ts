/**
 * Completions of `/supervise …`. Pi hands over the whole text after the command's name, and the chosen item replaces all
 * of it, so every item is the whole text. A text that is complete gets no items: the Enter key then sends it.
 */

import { oneLine } from "../report/inert.ts";
import type { KnownTask } from "../supervisor/api.ts";
import { fittingRequests, fittingTasks } from "./complete/fitting.ts";
import { type Completion, plainItems } from "./complete/item.ts";
import { claudeModels, piModels } from "./complete/models.ts";
import { pathItems } from "./complete/paths.ts";
import {
  type ArgSpec,
  type CommandName,
  type Completes,
  commandNames,
  commonFlags,
  type FlagSpec,
  isCommand,
  specOf,
} from "./parse/spec.ts";
import { getHub, openSupervisor } from "./session-binding.ts";
import { proposals } from "./ui/ask-verification.ts";
import { stateWords } from "./words-for-people.ts";

export type { Completion } from "./complete/item.ts";

/** What completions look at outside of the text. */
export interface CompletionHost {
  known(): Promise<KnownTask[]>;
  /** Pi's folder: paths are taken from there. */
  cwd: string;
  /** `provider/id` of the models that Pi has a login for. */
  models(): string[];
}

const MAX_ITEMS = 50;
/** How long the first look at the store may keep a keystroke waiting (ms). */
const FIRST_LOOK_MS = 300;

export async function complete(prefix: string, host: CompletionHost = realHost()): Promise<Completion[] | null> {
  const begun = prefix.trimStart();
  const { before, last } = splitLast(begun);
  const items = await itemsFor(before, last, host);
  const fitting = items.filter(
    (item) => item.label.toLowerCase().startsWith(last.toLowerCase()) && item.label !== last,
  );
  const whole = fitting.slice(0, MAX_ITEMS).map((item) => ({ ...item, value: `${before}${item.value}` }));
  return whole.length === 0 ? null : whole;
}

/** The word that is being typed, and all before it. A label of a question may have several words. */
function splitLast(begun: string): { before: string; last: string } {
  const answer = /^answer\s+\S+\s+/.exec(begun)?.[0];
  const at = answer?.length ?? Math.max(begun.lastIndexOf(" "), begun.lastIndexOf("\n")) + 1;
  return { before: begun.slice(0, at), last: begun.slice(at) };
}

async function itemsFor(before: string, last: string, host: CompletionHost): Promise<Completion[]> {
  const words = before.split(/\s+/).filter((word) => word !== "");
  const [name, ...given] = words;
  if (name === undefined)
    return commandNames.map((command) => ({ value: command, label: command, description: specOf(command).about }));
  if (!isCommand(name) || insideQuotes(before)) return [];
  const spec = specOf(name);
  const flags: Readonly<Record<string, FlagSpec>> = { ...spec.flags, ...commonFlags };

  const flag = given.at(-1)?.startsWith("--") ? flags[given.at(-1)?.slice(2) ?? ""] : undefined;
  if (flag !== undefined && flag.kind !== "switch") return valueItems(flag, last, given, host);
  if (last.startsWith("--"))
    return Object.entries(flags)
      .filter(([key, how]) => how.kind === "texts" || !given.includes(`--${key}`))
      .filter(([key]) => !given.includes(`--${key.startsWith("no-") ? key.slice(3) : `no-${key}`}`))
      .map(([key, how]) => ({ value: `--${key}`, label: `--${key}`, description: how.about }));
  const plain = given.filter((word) => !word.startsWith("--"));
  if (name === "answer" && plain.length === 1) return labelItems(plain[0] ?? "", await host.known());
  const arg = spec.args[plain.length];
  return arg === undefined ? [] : argItems(arg, name, host);
}

/** Values of a flag, where they can be told beforehand. */
async function valueItems(
  flag: Exclude<FlagSpec, { kind: "switch" }>,
  last: string,
  given: readonly string[],
  host: CompletionHost,
): Promise<Completion[]> {
  switch (flag.kind) {
    case "choice":
      return plainItems(flag.choices);
    case "duration":
      return plainItems(flag.common);
    case "count":
    case "amount":
      return [];
    case "text":
    case "texts":
      return textItems(flag.complete, last, given, host);
  }
}

async function textItems(
  what: Completes | undefined,
  last: string,
  given: readonly string[],
  host: CompletionHost,
): Promise<Completion[]> {
  switch (what) {
    case "file":
    case "folder":
      return pathItems(last, host.cwd, what);
    case "verification":
      return plainItems(proposals(host.cwd).map((command) => JSON.stringify(command)));
    case "pi-model":
      return plainItems(host.models());
    case "claude-model":
      return plainItems(claudeModels);
    case "fault": {
      const task = (await host.known()).find(({ taskId }) => given.includes(taskId));
      return task?.fault ? plainItems([task.fault]) : [];
    }
    case undefined:
      return [];
  }
}

async function argItems(arg: ArgSpec, name: CommandName, host: CompletionHost): Promise<Completion[]> {
  switch (arg.kind) {
    case "task":
      return fittingTasks(name, await host.known()).map((task) => ({
        value: task.taskId,
        label: task.taskId,
        description: `${task.recoverable ? "recoverable" : stateWords(task.state)}: ${oneLine(task.goal, 60)}`,
      }));
    case "request":
      return fittingRequests(name, await host.known()).map(({ task, request }) => ({
        value: request.requestId,
        label: request.requestId,
        description: `${oneLine(request.toolName, 24)}, ${task.taskId}: ${oneLine(task.goal, 60)}`,
      }));
    case "command":
      return commandNames
        .filter((command) => command !== name)
        .map((command) => ({ value: command, label: command, description: specOf(command).about }));
    case "choice":
      return plainItems(arg.choices ?? []);
  }
}

function labelItems(requestId: string, tasks: readonly KnownTask[]): Completion[] {
  const asked = tasks.flatMap((task) => task.requests).find((request) => request.requestId === requestId);
  return plainItems((asked?.labels ?? []).map((label) => oneLine(label, 120)));
}

function insideQuotes(text: string): boolean {
  return (text.replaceAll('\\"', "").split('"').length - 1) % 2 === 1;
}

let looked = false;

function realHost(): CompletionHost {
  const hub = getHub();
  return {
    cwd: hub.cwd ?? process.cwd(),
    models: () => piModels(hub.models),
    async known() {
      const opened = await openSupervisor(hub);
      if (!opened.ok) return [];
      const { supervisor } = opened;
      const known = supervisor.known();
      if (looked) return known;
      looked = true;
      await Promise.race([supervisor.approvals(), within(FIRST_LOOK_MS)]);
      return supervisor.known();
    },
  };
}

function within(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms).unref();
  });
}
