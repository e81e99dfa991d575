/** shared-folder, shared-stop, shared-lift, shared-page. */
import { spawnSync } from "node:child_process";
import { requirePerson } from "../../control/person.ts";
import {
  type ActContext,
  liftSharedStop,
  readSetting,
  setSharedFolder,
  setSharedStop,
} from "../../control/shared-acts.ts";
import { readPages } from "../../control/shared-page.ts";
import { text } from "../../control/show.ts";
import { failure, type Result } from "../../core/result.ts";
import type { Command } from "./arguments.ts";
import type { Answer, CliPorts } from "./ports.ts";
import { callerOf, refused } from "./refusal.ts";

const NOTICE = [
  "A stop in this folder halts the unattended runs of every account that names it here.",
  "What lies in it can be seen by everybody on this machine. It is made for accounts of one and the same person.",
  "An account that never ran shared-folder is out of reach.",
];

export async function shared(command: Command, ports: CliPorts): Promise<Answer> {
  const found = ports.account();
  if (!found.ok) return refused(found);
  const context: ActContext = { account: found.account, ownership: ports.ownership, now: () => ports.clock.now() };
  if (command.verb === "shared-page") return page(context, ports);
  if (command.verb === "shared-folder" && command.folder === undefined) return showSetting(context);
  const person = requirePerson(callerOf(ports), command.verb);
  if (!person.ok) return refused(person);
  switch (command.verb) {
    case "shared-folder":
      return choose(command, context);
    case "shared-stop":
      return set(context);
    default:
      return lift(context);
  }
}

async function choose(command: Command, context: ActContext): Promise<Answer> {
  const { account } = context;
  const person =
    command.person === undefined || command.person === account.name
      ? { ok: true as const, uid: context.ownership.uid, name: account.name }
      : lookUp(command.person);
  if (!person.ok) return refused(person);
  const outcome = await setSharedFolder(
    { folder: command.folder ?? "", person: { uid: person.uid, name: person.name } },
    context,
  );
  if (!outcome.ok) return refused(outcome);
  const { setting, madeStopFolder } = outcome;
  return {
    exitCode: 0,
    json: { ok: true, command: "shared-folder", ...setting, madeStopFolder },
    text: text([
      `Shared folder: ${setting.folder}, person: ${setting.person.name} (user ${setting.person.uid}).`,
      ...NOTICE,
      ...(madeStopFolder
        ? []
        : ["The person runs shared-folder in their own account too; until then no stop can be set."]),
    ]),
  };
}

function showSetting(context: ActContext): Answer {
  const read = readSetting(context);
  if (!read.ok) return refused(read);
  const { setting } = read;
  return {
    exitCode: 0,
    json: { ok: true, command: "shared-folder", ...(setting ?? { folder: null }) },
    text: text(
      setting === undefined
        ? [
            "This account has not opted in: a stop of another account does not reach it, and shared-stop reaches it alone.",
          ]
        : [`Shared folder: ${setting.folder}, person: ${setting.person.name} (user ${setting.person.uid}).`],
    ),
  };
}

async function set(context: ActContext): Promise<Answer> {
  const outcome = await setSharedStop(context);
  if (!outcome.ok) return refused({ ...outcome, message: `The stop was NOT set. ${outcome.message}` });
  const { path, reach, already } = outcome;
  return {
    exitCode: 0,
    json: { ok: true, command: "shared-stop", path, reach, already },
    text: text([
      `${already ? "It stood already" : "Set"}: ${path}. It reaches ${reach}.`,
      "Runs halt before their next move; for at once, run --all stop in each account. Merges that are armed stay armed.",
    ]),
  };
}

async function lift(context: ActContext): Promise<Answer> {
  const outcome = await liftSharedStop(context);
  if (!outcome.ok) return refused(outcome);
  return {
    exitCode: 0,
    json: { ok: true, command: "shared-lift", lifted: outcome.lifted },
    text: text([`Lifted: ${outcome.lifted.join(", ")}.`, "Nothing starts by itself: recover each task."]),
  };
}

function page(context: ActContext, ports: CliPorts): Answer {
  const read = readSetting(context);
  if (!read.ok) return refused(read);
  if (read.setting === undefined) return refused(failure("no-shared-folder", "This account has no shared folder."));
  const date = ports.clock.now().toISOString().slice(0, 10);
  const pages = readPages(read.setting.folder, date, context.ownership);
  if (!pages.ok) return refused(pages);
  return { exitCode: 0, json: { ok: true, command: "shared-page", date, text: pages.text }, text: pages.text };
}

/** Another account's uid by id(1), which asks the same database as the system. */
function lookUp(name: string): Result<{ uid: number; name: string }> {
  if (!/^[A-Za-z_][\w.-]{0,63}$/.test(name))
    return failure("no-account", `${JSON.stringify(name)} is no account name.`);
  const run = spawnSync("/usr/bin/id", ["-u", name], { encoding: "utf8", timeout: 5000, env: {} });
  const uid = /^\d+$/.test(run.stdout?.trim() ?? "") ? Number(run.stdout.trim()) : undefined;
  if (run.status !== 0 || uid === undefined) return failure("no-account", `There is no account ${name} here.`);
  return { ok: true, uid, name };
}
