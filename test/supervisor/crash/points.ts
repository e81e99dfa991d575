/**
 * Points at which a process can die: before, in the middle of and after each durable write, and around each thing that
 * the worker gets to see. A point is named by its kind and its number within the kind, so that the same name means the
 * same place in every run, give or take what timing moves.
 */
import fs from "node:fs";
import fsp from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import type { GateReply, StopOptions, WorkerAdapter } from "../../../src/core/contracts/worker.ts";
import { type LogFs, nodeLogFs } from "../../../src/store/log-fs.ts";
import type { SupervisorDeps } from "../../../src/supervisor/deps.ts";

export type PointKind =
  /** A write into the event log. */
  | "log"
  /** An fdatasync of the event log. */
  | "sync"
  /** `task.json` replaced, or the task's folder published, by a rename. */
  | "record"
  | "spawn"
  | "send"
  | "reply"
  | "end";

export type Moment = "before" | "half" | "after";

export interface Point {
  kind: PointKind;
  /** From 1. */
  number: number;
  moment: Moment;
}

export function pointName({ kind, number, moment }: Point): string {
  return `${kind} ${number} ${moment}`;
}

/** Counts points and dies at one of them. Make one a process: it watches the process' own calls of the file system. */
export class Reaper {
  /** How often each kind was passed. */
  readonly passed: Partial<Record<PointKind, number>> = {};
  readonly #point: Point | null;

  constructor(point: Point | null) {
    this.#point = point;
    this.#watchRenames();
  }

  /** Runs `act` as a point; `half` is what the middle of it does. */
  at<T>(kind: PointKind, act: () => T, half?: () => void): T {
    const number = (this.passed[kind] ?? 0) + 1;
    this.passed[kind] = number;
    const here = this.#point?.kind === kind && this.#point.number === number ? this.#point.moment : null;
    if (here === "before") die();
    if (here === "half" && half !== undefined) {
      half();
      die();
    }
    const done = act();
    if (here === null) return done;
    if (done instanceof Promise) return done.then(dieWith, dieWith) as T;
    return dieWith(done);
  }

  logFs(): LogFs {
    return {
      ...nodeLogFs,
      write: (fd, bytes, offset, length) =>
        this.at(
          "log",
          () => nodeLogFs.write(fd, bytes, offset, length),
          () => void nodeLogFs.write(fd, bytes, offset, Math.ceil(length / 2)),
        ),
      datasync: (fd) => this.at("sync", () => nodeLogFs.datasync(fd)),
    };
  }

  /** A worker whose effects are points. */
  worker(make: SupervisorDeps["createWorker"]): SupervisorDeps["createWorker"] {
    return (transport, input, deps) => {
      const worker = make(transport, input, deps);
      const effects: Partial<WorkerAdapter> = {
        start: () => this.at("spawn", () => worker.start()),
        send: (text: string, key: string) => this.at("send", () => worker.send(text, key)),
        reply: (callId: string, reply: GateReply) => this.at("reply", () => worker.reply(callId, reply)),
        stop: (options: StopOptions) => this.at("end", () => worker.stop(options)),
        pause: (exitMs: number) => this.at("end", () => worker.pause(exitMs)),
      };
      return new Proxy(worker, {
        get(target, name) {
          const own: unknown = Reflect.get(effects, name) ?? Reflect.get(target, name, target);
          return typeof own === "function" ? own.bind(target) : own;
        },
      });
    };
  }

  /** `task.json` is replaced by both kinds of rename; a new task's folder is published by the blocking one. */
  #watchRenames(): void {
    const { renameSync } = fs;
    const { rename } = fsp;
    const counts = (to: unknown): boolean => /\/task\.json$|\/tasks\/[^./][^/]*$/.test(String(to));
    fs.renameSync = (from, to) => (counts(to) ? this.at("record", () => renameSync(from, to)) : renameSync(from, to));
    fsp.rename = (from, to) => (counts(to) ? this.at("record", () => rename(from, to)) : rename(from, to));
    syncBuiltinESMExports();
  }
}

function dieWith<T>(done: T): T {
  die();
  return done;
}

function die(): void {
  process.kill(process.pid, "SIGKILL");
}
