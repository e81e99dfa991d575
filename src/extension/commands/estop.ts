/**
 * `/supervise estop status|pause|resume|stop [ID]`: the emergency stop from inside Pi, by the same functions as the
 * command `pi-claude-supervisor-control`. It needs no supervisor, no configuration and no task of this Pi.
 */
import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import { type ControlFolder, openControlFolder } from "../../control/folder.ts";
import { checkIdentity } from "../../control/identity.ts";
import { checkReason } from "../../control/reason.ts";
import type { Actor } from "../../control/record.ts";
import { requestStop } from "../../control/request.ts";
import { resume } from "../../control/resume.ts";
import { ALL } from "../../control/set-latch.ts";
import { showReport, showStatus } from "../../control/show.ts";
import { type ControlStatus, LIMITS } from "../../control/status.ts";
import { createIds } from "../../platform/ids.ts";
import { createRedactor } from "../../redaction/index.ts";
import { controlCommand } from "../../supervisor/emergency-command.ts";
import { standingStop } from "../../supervisor/standing-stop.ts";
import { type Answer, type BadAnswer, type PlainCommand, type Scene, usageError } from "../answer.ts";
import { usageOf } from "../parse/spec.ts";
import { whileShown } from "../progress.ts";

type Estop = Scene<"estop">;

export const estop: PlainCommand<"estop"> = async (scene) => {
  const [verb = "", id] = scene.call.args;
  const { flags } = scene.call;
  if (id !== undefined && flags.all) return usageError("bad-value", `Give an id or --all. Usage: ${usageOf("estop")}`);
  if (flags.now && flags["after-call"])
    return usageError("bad-value", `Give --now or --after-call. Usage: ${usageOf("estop")}`);
  const named = id === undefined ? { ok: true as const } : checkIdentity(id);
  if (!named.ok) return named;
  const scope = id ?? ALL;
  if (verb === "status") return status(scope);
  if (verb === "resume") return lift(scene, scope);
  return bringDown(scene, verb === "pause" ? "pause" : "stop", scope);
};

function status(scope: string): Answer | BadAnswer {
  const read = standingStop(process.env, scope);
  if (!read.ok) return read;
  const { status: now } = read;
  return { ok: true, fields: { scope, ...now, limits: LIMITS }, text: showStatus(now, scope).trimEnd() };
}

async function bringDown(scene: Estop, verb: "stop" | "pause", scope: string): Promise<Answer | BadAnswer> {
  const { flags } = scene.call;
  const reason = checkReason(flags.reason ?? `A person asked for it in Pi (estop ${verb}).`);
  if (!reason.ok) return reason;
  const opened = openControlFolder();
  if (!opened.ok) return opened;
  const redact = redactor();
  const wanted = {
    verb,
    scope,
    how: flags["after-call"] ? "after-call" : "now",
    reason: redact(reason.text),
    cause: "operator",
    actor: actorOf(scene, opened.folder),
    requestId: createIds().uuid(),
  } as const;
  const bring = () =>
    requestStop(opened.folder, wanted, { redact, ...(flags.wait === undefined ? {} : { waitMs: flags.wait }) });
  const what = `${verb === "pause" ? "pausing" : "stopping"} ${scope === ALL ? "everything" : scope}`;
  const outcome = await (scene.call.json ? bring() : whileShown(scene.port, what, bring));
  if (!outcome.ok) return outcome;
  const { report } = outcome;
  const { ok, ...facts } = report;
  const text = showReport(report).trimEnd();
  if (ok) return { ok: true, fields: { scope, ...facts }, text };
  const why = report.exitCode === 4 ? "owner-silent" : "failed-to-stop";
  return { ok: false, reason: why, message: text, fields: { scope, ...facts } };
}

/** Lifting is a person's act: epoch and name are typed by hand, and nobody but the TUI has a person's hands. */
async function lift(scene: Estop, scope: string): Promise<Answer | BadAnswer> {
  const { call, port } = scene;
  const before = standingStop(process.env, scope);
  if (!before.ok) return before;
  const { epoch, inForce } = before.status;
  if (port.mode !== "tui" || call.json) {
    const line = `${controlCommand(process.env)} ${scope} resume --epoch ${epoch} --reason "why"`;
    return {
      ok: false,
      reason: "terminal-only",
      message: `A person lifts a stop, at a terminal: ${line}`,
      fields: { terminalCommand: line, epoch, inForce },
    };
  }
  if (!inForce) return { ok: false, reason: "not-in-force", message: "No stop is in force. Nothing changed." };
  const opened = openControlFolder({ create: false });
  if (!opened.ok) return opened;
  const { signal } = new AbortController();
  const word = scope === ALL ? "all" : scope;
  const shown = showStatus(before.status, scope).trimEnd();
  const typed = await port.input(`${shown}\n\nType the epoch, then the name, to lift this`, `${epoch} ${word}`, signal);
  const [typedEpoch, typedWord, ...more] = (typed ?? "").trim().split(/\s+/);
  if (typedEpoch !== String(epoch) || typedWord !== word || more.length > 0)
    return { ok: false, reason: "not-confirmed", message: "That was something else. Nothing changed." };
  const why = call.flags.reason ?? (await port.input("Why is it lifted?", "reason", signal)) ?? "";
  const reason = checkReason(why);
  if (!reason.ok) return reason;
  const after = standingStop(process.env, scope);
  if (!after.ok) return after;
  if (standing(after.status) !== standing(before.status))
    return { ok: false, reason: "epoch-mismatch", message: "Something changed while you typed. Look at status again." };
  const actor = actorOf(scene, opened.folder);
  const text = redactor()(reason.text);
  const outcome = await resume(opened.folder, { scope, epoch, reason: text, actor, requestId: createIds().uuid() });
  if (!outcome.ok) return outcome;
  const { identities, notes } = outcome.resumed;
  const lines = [
    `The stop is lifted (epoch ${epoch}). Nothing starts by itself.`,
    ...identities.map((identity) => `  ${identity} may be recovered: /supervise recover ${identity}`),
    ...notes,
  ];
  return { ok: true, fields: { scope, ...outcome.resumed }, text: lines.join("\n") };
}

function standing({ epoch, held }: ControlStatus): string {
  return JSON.stringify([epoch, held?.source, held?.at, held?.message]);
}

/** Slash commands are typed by people: Pi's agent has no way to run one (0.73.1, 1.6.0). */
function actorOf({ port }: Estop, folder: ControlFolder): Actor {
  return { uid: folder.ownership.uid, kind: "person", tty: port.mode === "tui", host: hostname().slice(0, 64) };
}

function redactor(): (text: string) => string {
  const { text } = createRedactor({ salt: randomBytes(16).toString("hex") });
  return (given) => text(given);
}
