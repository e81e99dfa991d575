/**
 * The controller's end of the socket: one for a Pi process, whatever number of identities it drives. 0600 inside a 0700
 * folder (a new socket is 0755 under the usual umask, so it is also chmodded). Everything is bounded: 32 connections,
 * one line of 4 KiB each, 2 seconds to say it.
 */
import { chmodSync, lstatSync, readdirSync, unlinkSync } from "node:fs";
import { createConnection, createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { failure, type Result } from "../core/result.ts";
import type { Clock } from "../platform/clock.ts";
import { errnoOf, fileFailure } from "../platform/errno.ts";
import { openPrivateDir } from "../platform/private-dir.ts";
import { type ControlFolder, SOCKET_DIR_VARIABLE } from "./folder.ts";
import { judgeSocket } from "./nudge.ts";
import { MOST_LINE, type Nudge, type NudgeReply, parseNudge } from "./protocol.ts";

/**
 * The shortest limit of all systems: sun_path holds 104 bytes on macOS and 108 on Linux, with the closing NUL. Node 20
 * reports success for a longer path and binds a cut one (measured; node#52347), so it is measured before.
 */
export const MOST_SOCKET_BYTES = 103;
const MOST_CONNECTIONS = 32;
const LINE_MS = 2000;
const REPLAYED = 64;

export interface EndpointOptions {
  clock: Clock;
  answer(nudge: Nudge): Promise<NudgeReply>;
}

/** Where an instance's socket lies. Reason `socket-path` when it would be too long, in bytes. */
export function socketPathOf(folder: ControlFolder, instanceId: string): Result<{ path: string }> {
  const path = join(folder.socketDir, `${instanceId}.sock`);
  const size = Buffer.byteLength(path);
  if (size <= MOST_SOCKET_BYTES) return { ok: true, path };
  return failure(
    "socket-path",
    `The socket path ${path} has ${size} bytes, more than the ${MOST_SOCKET_BYTES} that every system allows. Set ${SOCKET_DIR_VARIABLE} to a shorter folder of your own.`,
  );
}

export class Endpoint {
  readonly path: string;
  readonly #folder: ControlFolder;
  readonly #options: EndpointOptions;
  readonly #replies = new Map<string, Promise<NudgeReply>>();
  /** Oldest first; the value says whether a stop has come over it. */
  readonly #open = new Map<Socket, "idle" | "busy">();
  #server: Server | undefined;
  #inode = "";

  constructor(folder: ControlFolder, path: string, options: EndpointOptions) {
    this.#folder = folder;
    this.path = path;
    this.#options = options;
  }

  /**
   * Binds. A left-over socket that nobody listens on is removed; a file, a link or a foreign socket is not. Reasons:
   * `not-a-socket`, `wrong-owner`, `busy`, those of `openPrivateDir`, or a disk fault.
   */
  async listen(): Promise<Result> {
    const dir = openPrivateDir(this.#folder.socketDir, { what: "socket folder", ownership: this.#folder.ownership });
    if (!dir.ok) return dir;
    // The old one first: closing it later would remove the new name.
    const old = this.#server;
    this.#server = undefined;
    if (old !== undefined) await new Promise<void>((resolve) => old.close(() => resolve()));
    const first = await this.#bind();
    if (first !== "in-use") return first;
    const judged = judgeSocket(this.path, this.#folder.ownership);
    if (!judged.ok && judged.reason !== "missing") return judged;
    if (judged.ok) {
      if (await isListening(this.path))
        return failure("busy", `Another process listens on ${this.path}. End it first.`);
      try {
        unlinkSync(this.path);
      } catch (error) {
        if (errnoOf(error) !== "ENOENT") return fileFailure("remove", this.path, error);
      }
    }
    const second = await this.#bind();
    return second === "in-use" ? failure("busy", `Another process took ${this.path}. Try again.`) : second;
  }

  /** Whether the name still leads to us. */
  isThere(): boolean {
    const judged = judgeSocket(this.path, this.#folder.ownership);
    return judged.ok && judged.inode === this.#inode;
  }

  close(): void {
    for (const socket of this.#open.keys()) socket.destroy();
    // Closing removes the name as well (libuv).
    this.#server?.close();
    this.#server = undefined;
  }

  #bind(): Promise<Result | "in-use"> {
    const server = createServer({ allowHalfOpen: false }, (socket) => this.#accept(socket));
    return new Promise((resolve) => {
      server.once("error", (error) => {
        resolve(errnoOf(error) === "EADDRINUSE" ? "in-use" : fileFailure("listen on", this.path, error));
      });
      server.listen(this.path, () => {
        try {
          chmodSync(this.path, 0o600);
          const stats = lstatSync(this.path);
          this.#inode = `${stats.dev}:${stats.ino}`;
        } catch (error) {
          server.close();
          return resolve(fileFailure("listen on", this.path, error));
        }
        // EMFILE and the like on accept: the latch file works regardless.
        server.removeAllListeners("error").on("error", () => undefined);
        server.unref();
        this.#server = server;
        resolve({ ok: true });
      });
    });
  }

  #accept(socket: Socket): void {
    socket.on("error", () => socket.destroy());
    socket.on("close", () => this.#open.delete(socket));
    socket.unref();
    if (this.#open.size >= MOST_CONNECTIONS) this.#shed();
    this.#open.set(socket, "idle");
    const cancel = this.#options.clock.setTimer(LINE_MS, () => socket.destroy(), { background: true });
    const chunks: Buffer[] = [];
    let size = 0;
    const onData = (chunk: Buffer): void => {
      size += chunk.length;
      chunks.push(chunk);
      const isWhole = chunk.includes(0x0a);
      if (!isWhole && size <= MOST_LINE) return;
      socket.off("data", onData);
      socket.resume();
      cancel();
      const all = Buffer.concat(chunks);
      const end = all.indexOf(0x0a);
      void this.#serve(socket, end < 0 ? all : all.subarray(0, end));
    };
    socket.on("data", onData);
    socket.on("close", cancel);
  }

  /** The oldest that has said nothing gives way; where all are busy, the oldest of them. */
  #shed(): void {
    const idle = [...this.#open].find(([, state]) => state === "idle")?.[0];
    const victim = idle ?? this.#open.keys().next().value;
    if (victim === undefined) return;
    this.#open.delete(victim);
    victim.destroy();
  }

  async #serve(socket: Socket, line: Uint8Array): Promise<void> {
    const parsed = parseNudge(line);
    if (!parsed.ok) {
      return say(socket, { ok: false, requestId: "", reason: parsed.message });
    }
    const { nudge } = parsed;
    if (nudge.verb !== "status") this.#open.set(socket, "busy");
    const key = `${nudge.requestId} ${nudge.verb} ${nudge.scope} ${nudge.epoch}`;
    let reply = this.#replies.get(key);
    if (reply === undefined) {
      reply = this.#options.answer(nudge);
      this.#replies.set(key, reply);
      const oldest = this.#replies.keys().next().value;
      if (this.#replies.size > REPLAYED && oldest !== undefined) this.#replies.delete(oldest);
    }
    say(socket, await reply);
  }
}

/** A socket this young may be between its creation and its first listening, milliseconds. */
const YOUNG_MS = 60_000;

/** Removes what killed instances left: sockets of ours, by name and owner, that nobody listens on. Best effort. */
export async function removeDeadSockets(folder: ControlFolder, now: Date): Promise<void> {
  let names: string[];
  try {
    names = readdirSync(folder.socketDir).filter((name) => /^[0-9a-f]{12}\.sock$/.test(name));
  } catch {
    return;
  }
  for (const path of names.map((name) => join(folder.socketDir, name))) {
    if (!judgeSocket(path, folder.ownership).ok || (await isListening(path))) continue;
    try {
      if (now.getTime() - lstatSync(path).mtimeMs > YOUNG_MS) unlinkSync(path);
    } catch (error) {
      if (errnoOf(error) === undefined) throw error;
    }
  }
}

/** Answers and closes, whether or not the other side reads or closes. */
function say(socket: Socket, reply: NudgeReply): void {
  socket.end(`${JSON.stringify(reply)}\n`, () => socket.destroy());
}

/** Connecting is refused when nobody listens; anything else counts as somebody. */
function isListening(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection(path);
    const done = (answer: boolean): void => {
      socket.destroy();
      resolve(answer);
    };
    socket.once("connect", () => done(true));
    socket.once("error", (error) => done(!["ECONNREFUSED", "ENOENT"].includes(errnoOf(error) ?? "")));
  });
}
