/** Acts as another account of the machine, in a process of its own; prints what came of it in one word. */
import { renameSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import { openControl } from "../../src/control/controller.ts";
import { openControlFolder } from "../../src/control/folder.ts";
import { requestStop } from "../../src/control/request.ts";
import { liftSharedStop, setSharedFolder, setSharedStop } from "../../src/control/shared-acts.ts";
import { stopFileOf, stopFolderOf } from "../../src/control/shared-names.ts";
import { writePage } from "../../src/control/shared-page.ts";
import { SharedStop } from "../../src/control/shared-stop.ts";
import { systemOwnership } from "../../src/platform/account.ts";
import { identify } from "../../src/platform/process/index.ts";

const shared = process.env["SHARED"] ?? "";
const person = Number(process.env["PERSON"]);
const { uid } = systemOwnership;
const account = { uid, gid: uid, name: "second", home: process.env["HOME"] ?? "" };
const context = { account, ownership: systemOwnership, now: () => new Date() };
const word = (result: { ok: true } | { ok: false; reason: string }): string => (result.ok ? "ok" : result.reason);

async function act(name: string | undefined): Promise<string> {
  switch (name) {
    case "choose":
      return word(await setSharedFolder({ folder: shared, person: { uid: person, name: "person" } }, context));
    case "check": {
      const stop = new SharedStop({ account: () => ({ ok: true, account }), platformFolder: "/var/tmp" });
      return stop.check()?.reason ?? "clear";
    }
    case "set":
      return word(await setSharedStop(context));
    case "lift":
      return word(await liftSharedStop(context));
    case "remove":
      return attempt(() => unlinkSync(stopFileOf(shared, person)));
    case "move":
      return attempt(() => renameSync(stopFolderOf(shared, person), `${stopFolderOf(shared, person)}-away`));
    case "folder": {
      const opened = openControlFolder({ env: { PI_CLAUDE_SUPERVISOR_CONTROL_DIR: process.env["FOREIGN"] } });
      return word(opened);
    }
    case "kill":
      return stopOver(Number(process.env["FOREIGN"]));
    case "page": {
      const written = writePage(shared, "2026-05-06", [], systemOwnership);
      return written.ok ? written.path : written.message;
    }
    default:
      return "?";
  }
}

/** A stop in this account's own folder, over a process of another account. */
async function stopOver(pid: number): Promise<string> {
  const env = { PI_CLAUDE_SUPERVISOR_STATE_DIR: join(account.home, "state") };
  const redact = (text: string): string => text;
  const opened = await openControl({ env, redact, account: () => ({ ok: true, account }), platformFolder: "/var/tmp" });
  if (!opened.ok) return opened.message;
  const { control } = opened;
  const enrolled = await control.enroll({ identity: "one", taskId: "one", cwd: "/usr" });
  const leader = identify(pid);
  if (!enrolled.ok || leader === undefined) return enrolled.ok ? "no process" : enrolled.message;
  const resource = { id: "foreign", kind: "process" as const, process: leader, what: "another account's" };
  const registered = await enrolled.task.register(resource);
  await enrolled.task.close();
  const actor = { uid, kind: "person", tty: true, host: "test" } as const;
  const outcome = await requestStop(
    control.folder,
    { verb: "stop", scope: "one", how: "now", reason: "x", cause: "operator", actor, requestId: "r" },
    { redact, proofMs: 300 },
  );
  await control.close();
  if (!registered.ok || !outcome.ok) return registered.ok ? word(outcome) : word(registered);
  const { exitCode, records } = outcome.report;
  return [exitCode, records[0]?.state, ...(records[0]?.remaining ?? []).map(({ kind, id }) => `${kind} ${id}`)].join(
    ", ",
  );
}

function attempt(what: () => void): string {
  try {
    what();
    return "done";
  } catch (error) {
    return error instanceof Error && "code" in error ? String(error.code) : "?";
  }
}

console.log(await act(process.argv[2]));
