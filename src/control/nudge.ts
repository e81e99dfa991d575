/** The caller's end of the socket: tells a controller to look now, and waits a bounded time for its answer. */
import { lstatSync } from "node:fs";
import { createConnection } from "node:net";
import { failure, type Result } from "../core/result.ts";
import type { Ownership } from "../platform/account.ts";
import { errnoOf, fileFailure } from "../platform/errno.ts";
import { MOST_LINE, type Nudge, type NudgeReply, parseReply } from "./protocol.ts";

/**
 * Reasons: `missing`, `not-a-socket`, `wrong-owner`, `refused` (nobody listens), `no-answer`, `bad-reply`. A plain file
 * also answers "refused" to a connect (Linux 6, Node 20), so its kind is judged first.
 */
export async function sendNudge(
  socketPath: string,
  nudge: Nudge,
  options: { deadlineMs: number; ownership: Ownership },
): Promise<Result<{ reply: NudgeReply }>> {
  const judged = judgeSocket(socketPath, options.ownership);
  if (!judged.ok) return judged;
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const socket = createConnection(socketPath);
    const done = (result: Result<{ reply: NudgeReply }>): void => {
      clearTimeout(timer);
      socket.removeAllListeners();
      socket.on("error", () => undefined);
      socket.destroy();
      resolve(result);
    };
    const timer = setTimeout(() => {
      done(failure("no-answer", `The controller did not answer within ${options.deadlineMs} ms.`));
    }, options.deadlineMs);
    socket.on("connect", () => socket.write(`${JSON.stringify(nudge)}\n`));
    socket.on("data", (chunk) => {
      chunks.push(chunk);
      size += chunk.length;
      const end = chunk.indexOf(0x0a);
      if (end < 0 && size <= MOST_LINE) return;
      const all = Buffer.concat(chunks);
      done(parseReply(all.subarray(0, all.indexOf(0x0a)), nudge.requestId));
    });
    socket.on("end", () => done(failure("no-answer", "The controller closed the connection without an answer.")));
    socket.on("error", (error) => {
      const code = errnoOf(error);
      done(
        code === "ECONNREFUSED"
          ? failure("refused", "Nobody listens on the socket: its controller is gone.")
          : fileFailure("connect to", socketPath, error),
      );
    });
  });
}

/** A socket of this account, without following a link. */
export function judgeSocket(path: string, ownership: Ownership): Result<{ inode: string }> {
  try {
    const stats = lstatSync(path);
    if (!stats.isSocket()) return failure("not-a-socket", `${path} is not a socket. Move it away.`);
    if (ownership.ownerOf(path, stats) !== ownership.uid) {
      return failure("wrong-owner", `The socket ${path} belongs to another user. Move it away.`);
    }
    return { ok: true, inode: `${stats.dev}:${stats.ino}` };
  } catch (error) {
    return fileFailure("look at", path, error);
  }
}
