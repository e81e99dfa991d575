/** Acts as another account of the machine, in a process of its own; prints what came of it in one word. */
import { renameSync, unlinkSync } from "node:fs";
import { liftSharedStop, setSharedFolder, setSharedStop } from "../../src/control/shared-acts.ts";
import { stopFileOf, stopFolderOf } from "../../src/control/shared-names.ts";
import { writePage } from "../../src/control/shared-page.ts";
import { SharedStop } from "../../src/control/shared-stop.ts";
import { systemOwnership } from "../../src/platform/account.ts";

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
    case "page": {
      const written = writePage(shared, "2026-05-06", [], systemOwnership);
      return written.ok ? written.path : written.message;
    }
    default:
      return "?";
  }
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
