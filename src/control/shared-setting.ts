/** This account's opt-in: which folder, and whose stop counts there. It lies in the home of the account database. */

import { failure, type Result } from "../core/result.ts";
import type { AccountLookup, Ownership } from "../platform/account.ts";
import { durableWrite } from "../platform/durable-write.ts";
import { openPrivateDir } from "../platform/private-dir.ts";
import { CachedFile, type Reading } from "./cached-file.ts";
import { configFolderOf, settingPathOf } from "./shared-names.ts";
import { isObject, parseStrict } from "./strict-json.ts";

export interface SharedSetting {
  folder: string;
  person: { uid: number; name: string };
}

/** Never throws. A home that can't be found is unclear, not absent. */
export class SettingReader {
  readonly #account: AccountLookup;
  readonly #ownership: Ownership;
  #file: CachedFile<SharedSetting> | undefined;

  constructor(account: AccountLookup, ownership: Ownership) {
    this.#account = account;
    this.#ownership = ownership;
  }

  /** The home, looked up once: the account database does not change under a running process. */
  home(): Result<{ home: string }> {
    const found = this.#account();
    return found.ok ? { ok: true, home: found.account.home } : found;
  }

  read(): Reading<SharedSetting> {
    if (this.#file === undefined) {
      const home = this.home();
      if (!home.ok) return { state: "unclear", fault: home };
      this.#file = new CachedFile(settingPathOf(home.home), this.#ownership, parseSetting);
    }
    return this.#file.read();
  }
}

export function parseSetting(bytes: Uint8Array): Result<{ value: SharedSetting }> {
  const what = "The setting shared-folder.json";
  const parsed = parseStrict(bytes, what);
  if (!parsed.ok) return parsed;
  const { value } = parsed;
  const person = isObject(value) ? value["person"] : undefined;
  if (!isObject(value) || value["schema"] !== 1 || typeof value["folder"] !== "string" || !isObject(person)) {
    return failure("damaged", `${what} is damaged. Run shared-folder again.`);
  }
  const { uid, name } = person;
  if (typeof uid !== "number" || !Number.isSafeInteger(uid) || uid < 0 || typeof name !== "string") {
    return failure("damaged", `${what} is damaged. Run shared-folder again.`);
  }
  return { ok: true, value: { folder: value["folder"], person: { uid, name } } };
}

export function writeSetting(home: string, setting: SharedSetting, ownership: Ownership): Result {
  const folder = openPrivateDir(configFolderOf(home), { what: "settings folder", ownership });
  if (!folder.ok) return folder;
  const text = `${JSON.stringify({ schema: 1, ...setting }, null, 1)}\n`;
  const written = durableWrite(settingPathOf(home), text);
  return written.ok ? { ok: true } : written;
}
