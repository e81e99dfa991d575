/**
 * pi-claude-supervisor-control. It reads no configuration of a project and needs neither Pi nor the store: a stop that
 * a broken configuration can refuse is no stop.
 */
import { agentsMayPause } from "../../control/agent-pause.ts";
import { unknownIdentity } from "../../control/files.ts";
import { type ControlFolder, openControlFolder } from "../../control/folder.ts";
import { actorOf, requirePerson } from "../../control/person.ts";
import { checkReason } from "../../control/reason.ts";
import { requestStop } from "../../control/request.ts";
import { resume } from "../../control/resume.ts";
import { ALL } from "../../control/set-latch.ts";
import { SettingReader, type SharedSetting } from "../../control/shared-setting.ts";
import { SharedStop } from "../../control/shared-stop.ts";
import { showReport, showStatus, text } from "../../control/show.ts";
import { type ControlStatus, emptyStatus, LIMITS, readStatus } from "../../control/status.ts";
import { assertNever, type Failure, failure } from "../../core/result.ts";
import { createIds } from "../../platform/ids.ts";
import { type Command, parseArguments, USAGE } from "./arguments.ts";
import { drill } from "./drill.ts";
import type { Answer, CliPorts } from "./ports.ts";
import { callerOf, refused } from "./refusal.ts";
import { shared } from "./shared.ts";

/** Runs one command and returns its exit code. */
export async function runControl(argv: readonly string[], ports: CliPorts): Promise<number> {
  const parsed = parseArguments(argv);
  const isJson = argv.includes("--json");
  const answer = parsed.ok ? await answerTo(parsed.command, ports) : refused(parsed);
  if (isJson) ports.out(`${JSON.stringify(answer.json)}\n`);
  else if (answer.json["ok"] === true) ports.out(answer.text);
  else ports.err(answer.text);
  return answer.exitCode;
}

async function answerTo(command: Command, ports: CliPorts): Promise<Answer> {
  switch (command.verb) {
    case "help":
      return { exitCode: 0, json: { ok: true, usage: USAGE }, text: USAGE };
    case "status":
      return status(command, ports);
    case "stop":
    case "pause":
      return stop(command, command.verb, ports);
    case "resume":
      return lift(command, ports);
    case "shared-folder":
    case "shared-stop":
    case "shared-lift":
    case "shared-page":
      return shared(command, ports);
    case "drill":
      return drill(ports);
    default:
      return assertNever(command.verb, "verb");
  }
}

function status(command: Command, ports: CliPorts): Answer {
  const opened = openControlFolder({ ...accountPorts(ports), create: false });
  if (!opened.ok && opened.reason !== "missing") return refused(opened);
  const check = new SharedStop({ account: ports.account, ownership: ports.ownership }).check;
  const read = opened.ok
    ? readStatus(opened.folder, command.scope, ports.clock.now(), check)
    : command.scope === ALL
      ? { ok: true as const, status: emptyStatus(check) }
      : unknownIdentity(command.scope);
  if (!read.ok) return refused(read);
  const setting = settingOf(ports);
  return {
    exitCode: 0,
    json: {
      ok: true,
      command: "status",
      scope: command.scope,
      ...read.status,
      sharedFolder: setting?.folder ?? null,
      limits: LIMITS,
    },
    text: `${showStatus(read.status, command.scope)}${text([
      setting === undefined
        ? "No shared folder: a stop of another account does not reach this one (shared-folder DIR)."
        : `Shared folder: ${setting.folder}, person ${setting.person.name} (user ${setting.person.uid}).`,
    ])}`,
  };
}

function settingOf(ports: CliPorts): SharedSetting | undefined {
  const reading = new SettingReader(ports.account, ports.ownership).read();
  return reading.state === "read" ? reading.value : undefined;
}

async function stop(command: Command, verb: "stop" | "pause", ports: CliPorts): Promise<Answer> {
  const reason = checkReason(command.reason);
  if (!reason.ok) return refused(reason);
  const opened = openControlFolder(accountPorts(ports));
  if (!opened.ok) return refused(opened);
  const actor = actorOf(callerOf(ports));
  if (verb === "pause" && actor.kind === "agent" && !agentsMayPause(opened.folder)) {
    return refused(
      failure("not-a-person", "Agents may not pause here (agentMayPause is false). A stop is always allowed."),
    );
  }
  const outcome = await requestStop(
    opened.folder,
    {
      verb,
      scope: command.scope,
      how: command.how,
      reason: ports.redact(reason.text),
      cause: actor.kind === "agent" ? "agent" : "operator",
      actor,
      requestId: createIds({ clock: ports.clock }).uuid(),
    },
    {
      clock: ports.clock,
      redact: ports.redact,
      ...(command.waitMs === undefined ? {} : { waitMs: command.waitMs }),
    },
  );
  if (!outcome.ok) return refused(outcome);
  const { report } = outcome;
  return { exitCode: report.exitCode, json: { command: verb, ...report }, text: showReport(report) };
}

async function lift(command: Command, ports: CliPorts): Promise<Answer> {
  const caller = callerOf(ports);
  const person = requirePerson(caller, "resume");
  if (!person.ok) return refused(person);
  const reason = checkReason(command.reason);
  if (!reason.ok) return refused(reason);
  if (command.epoch === undefined)
    return refused(failure("usage", "resume needs --epoch N, the one that status shows."));
  const opened = openControlFolder({ ...accountPorts(ports), create: false });
  if (!opened.ok) return refused(opened);
  const before = readStatus(opened.folder, command.scope, ports.clock.now());
  if (!before.ok) return refused(before);
  if (before.status.epoch !== command.epoch) {
    const { epoch } = before.status;
    return refused(failure("epoch-mismatch", `The epoch is ${epoch}, not ${command.epoch}. Look at status again.`));
  }
  const typed = await confirm(opened.folder, command, before.status, ports);
  if (!typed.ok) return refused(typed);
  const outcome = await resume(
    opened.folder,
    {
      scope: command.scope,
      epoch: command.epoch,
      reason: ports.redact(reason.text),
      actor: actorOf(caller),
      requestId: createIds({ clock: ports.clock }).uuid(),
    },
    { clock: ports.clock },
  );
  if (!outcome.ok) return refused(outcome);
  const { resumed } = outcome;
  return {
    exitCode: 0,
    json: { ok: true, command: "resume", scope: command.scope, ...resumed },
    text: text([
      `The latch is lifted (epoch ${resumed.epoch}). Nothing starts by itself.`,
      ...resumed.identities.map((identity) => `  ${identity} may be recovered: /supervise recover ${identity}`),
      ...resumed.notes,
    ]),
  };
}

/** What stood when the person was asked must still stand when the answer comes: a newer STOP-ALL file has no epoch. */
async function confirm(
  folder: ControlFolder,
  command: Command,
  before: ControlStatus,
  ports: CliPorts,
): Promise<{ ok: true } | Failure> {
  const word = command.scope === ALL ? "all" : command.scope;
  ports.err(showStatus(before, command.scope));
  const typed = await ports.ask(`Type ${word} to lift this: `);
  if (typed.trim() !== word) return failure("not-confirmed", "That was something else. Nothing changed.");
  const after = readStatus(folder, command.scope, ports.clock.now());
  if (!after.ok) return after;
  const standing = (status: ControlStatus): string =>
    JSON.stringify([status.epoch, status.held?.source, status.held?.at, status.held?.message]);
  return standing(after.status) === standing(before)
    ? { ok: true }
    : failure("epoch-mismatch", "Something changed while you typed. Look at status again. Nothing changed.");
}

function accountPorts(ports: CliPorts): Pick<CliPorts, "env" | "account" | "ownership"> {
  return { env: ports.env, account: ports.account, ownership: ports.ownership };
}
