/**
 * Completions of `/supervise …`. Pi hands over the whole text after the command's name, and the chosen item replaces all
 * of it, so every item is the whole text. A text that is complete gets no items: the Enter key then sends it.
 */

import { oneLine } from "../report/inert.ts";
import type { Supervisor } from "../supervisor/api.ts";
import { type ArgSpec, commandNames, commonFlags, type FlagSpec, isCommand, specOf } from "./parse/spec.ts";
import { getHub, openSupervisor } from "./session-binding.ts";
import { stateWords } from "./words-for-people.ts";

export interface Completion {
  value: string;
  label: string;
  description?: string;
}

type Known = ReturnType<Supervisor["known"]>;

const MAX_ITEMS = 50;

export async function complete(prefix: string, known: () => Promise<Known> = knownTasks): Promise<Completion[] | null> {
  const begun = prefix.trimStart();
  const at = Math.max(begun.lastIndexOf(" "), begun.lastIndexOf("\n"));
  const before = begun.slice(0, at + 1);
  const last = begun.slice(at + 1);
  const items = await itemsFor(before, last, known);
  const fitting = items.filter(
    (item) => item.label.toLowerCase().startsWith(last.toLowerCase()) && item.label !== last,
  );
  const whole = fitting.slice(0, MAX_ITEMS).map((item) => ({ ...item, value: `${before}${item.value}` }));
  return whole.length === 0 ? null : whole;
}

async function itemsFor(before: string, last: string, known: () => Promise<Known>): Promise<Completion[]> {
  const words = before.split(/\s+/).filter((word) => word !== "");
  const [name, ...given] = words;
  if (name === undefined)
    return commandNames.map((command) => ({ value: command, label: command, description: specOf(command).about }));
  if (!isCommand(name) || insideQuotes(before)) return [];
  const spec = specOf(name);
  const flags: Readonly<Record<string, FlagSpec>> = { ...spec.flags, ...commonFlags };

  const flag = given.at(-1)?.startsWith("--") ? flags[given.at(-1)?.slice(2) ?? ""] : undefined;
  if (flag?.kind === "choice") return flag.choices.map((choice) => ({ value: choice, label: choice }));
  if (flag !== undefined && flag.kind !== "switch") return [];
  if (last.startsWith("--"))
    return Object.entries(flags)
      .filter(([key, how]) => how.kind === "texts" || !given.includes(`--${key}`))
      .map(([key, how]) => ({ value: `--${key}`, label: `--${key}`, description: how.about }));
  const arg = spec.args[given.filter((word) => !word.startsWith("--")).length];
  return arg === undefined ? [] : argItems(arg, name, await (needsIds(arg) ? known() : []));
}

function argItems(arg: ArgSpec, name: string, tasks: Known): Completion[] {
  switch (arg.kind) {
    case "task":
      return tasks.map((task) => ({
        value: task.taskId,
        label: task.taskId,
        description: `${stateWords(task.state)}: ${oneLine(task.goal, 60)}`,
      }));
    case "request":
      return tasks.flatMap((task) =>
        task.requests.map((id) => ({ value: id, label: id, description: `${task.taskId}: ${oneLine(task.goal, 60)}` })),
      );
    case "command":
      return commandNames
        .filter((command) => command !== name)
        .map((command) => ({ value: command, label: command, description: specOf(command).about }));
    case "choice":
      return (arg.choices ?? []).map((choice) => ({ value: choice, label: choice }));
  }
}

function needsIds(arg: ArgSpec): boolean {
  return arg.kind === "task" || arg.kind === "request";
}

function insideQuotes(text: string): boolean {
  return (text.replaceAll('\\"', "").split('"').length - 1) % 2 === 1;
}

async function knownTasks(): Promise<Known> {
  const opened = await openSupervisor(getHub());
  return opened.ok ? opened.supervisor.known() : [];
}
