/** `/supervise discard <ID> [--yes]`: drops the record of an ended or recoverable task; without `--yes` only looks. */
import type { RemovalView } from "../../supervisor/api.ts";
import type { Command } from "../answer.ts";
import { count, safe, size } from "../words-for-people.ts";

export const discard: Command<"discard"> = async ({ call }, supervisor) => {
  const [taskId = ""] = call.args;
  const apply = call.flags.yes === true;
  const done = await supervisor.discard(taskId, apply);
  if (!done.ok) return { ...done, fields: { taskId } };
  const { removal } = done;
  const what = removalWords(removal);
  const text = removal.removed
    ? `The record of task ${taskId} is gone (${what}). Its workspace was not touched.`
    : `This would remove ${safe(removal.folder)} (${what}); the workspace is not touched. Do it: /supervise discard ${taskId} --yes`;
  return { ok: true, fields: { taskId, removal }, text };
};

export function removalWords({ files, bytes }: Pick<RemovalView, "files" | "bytes">): string {
  return `${count(files, "file")}, ${size(bytes)}`;
}
