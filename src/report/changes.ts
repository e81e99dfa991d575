/** What the evidence says of changed files. */
import type { EventMap } from "../core/events.ts";
import type { Changes, FileChange } from "./model.ts";
import { number } from "./words.ts";

const MAX_FILES = 500;
/** Large enough to be named with its size (bytes). */
const LARGE = 1_000_000;

/** Null where the evidence names none. */
export function changesOf({ changes, round }: EventMap["verify.finished"]): Changes | null {
  if (changes === undefined) return null;
  const files = changes.files.slice(0, MAX_FILES).map(({ path, status, kind, size, added, deleted }): FileChange => {
    const notes = [
      ...(kind === "text" ? [] : [kind]),
      ...(kind === "binary" || size > LARGE ? [`${number(size)} bytes`] : []),
    ];
    return {
      path,
      status,
      ...(added !== undefined && { added }),
      ...(deleted !== undefined && { deleted }),
      ...(notes.length > 0 && { note: notes.join(", ") }),
    };
  });
  const more = changes.more + Math.max(0, changes.files.length - MAX_FILES);
  return { files, more, added: changes.added, deleted: changes.deleted, round };
}
