/**
 * Names of the stop that reaches several accounts of one person:
 *
 *     <shared folder>/pi-claude-supervisor-stop-<uid>/stop          the person's stop; its presence is all that counts
 *     <shared folder>/pi-claude-supervisor-digest/<date>/<uid>.md   what each account's runs left
 *     <home>/.config/pi-claude-supervisor/shared-folder.json        this account's opt-in: folder and person
 *     <home>/.config/pi-claude-supervisor/{stop,stop-log.jsonl}     the home latch (this account alone); the lift log
 */
import { join } from "node:path";

export const stopFolderOf = (shared: string, uid: number): string => join(shared, `pi-claude-supervisor-stop-${uid}`);
export const stopFileOf = (shared: string, uid: number): string => join(stopFolderOf(shared, uid), "stop");
export const digestFolderOf = (shared: string): string => join(shared, "pi-claude-supervisor-digest");
export const configFolderOf = (home: string): string => join(home, ".config", "pi-claude-supervisor");
export const settingPathOf = (home: string): string => join(configFolderOf(home), "shared-folder.json");
export const homeStopOf = (home: string): string => join(configFolderOf(home), "stop");
export const liftLogOf = (home: string): string => join(configFolderOf(home), "stop-log.jsonl");

/** Where every account of the machine can look without any setting. */
export const PLATFORM_SHARED = process.platform === "darwin" ? "/Users/Shared" : "/var/tmp";
