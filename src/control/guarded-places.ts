/** Where the emergency stop lives on this machine, for the filter on Pi's own agent. */
import { realpathSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { currentAccount, systemOwnership } from "../platform/account.ts";
import { stateDirPath } from "../platform/state-dir.ts";
import { controlPaths, type Env } from "./folder.ts";
import { configFolderOf, digestFolderOf, PLATFORM_SHARED, stopFolderOf } from "./shared-names.ts";
import { SettingReader } from "./shared-setting.ts";
import type { GuardedPlaces } from "./tool-guard.ts";

/** Reads the setting of the shared folder anew each time: one `lstat`. Never throws. */
export function guardedPlaces(env: Env, cwd: string): GuardedPlaces {
  const account = currentAccount();
  const roots = new Set<string>();
  const state = stateDirPath({ env });
  if (state.ok) roots.add(state.path);
  const control = controlPaths({ env });
  if (control.ok) roots.add(control.control).add(control.sockets);
  const folders = [PLATFORM_SHARED];
  const people: number[] = [];
  let home = env["HOME"] ?? "/";
  if (account.ok) {
    home = account.account.home;
    people.push(account.account.uid);
    roots.add(configFolderOf(home));
    const setting = new SettingReader(() => account, systemOwnership).read();
    if (setting.state === "read") {
      folders.push(setting.value.folder);
      people.push(setting.value.person.uid);
    }
  }
  for (const folder of folders) {
    roots.add(digestFolderOf(folder));
    for (const uid of people) roots.add(stopFolderOf(folder, uid));
  }
  const all = [...roots].flatMap((root) => [root, realPath(root)]);
  return { roots: [...new Set(all)], cwd, home, realPath };
}

/** Where a path leads, also when its end does not exist yet. */
function realPath(path: string): string {
  let rest = "";
  for (let at = path; ; at = dirname(at)) {
    try {
      return join(realpathSync(at), rest);
    } catch {
      if (at === dirname(at)) return path;
      rest = join(basename(at), rest);
    }
  }
}
