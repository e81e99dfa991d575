/** A control folder of its own, dummy workers in a contained tree, and a controller in another process. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import type { TestContext } from "node:test";
import { type ControlFolder, openControlFolder } from "../../src/control/folder.ts";
import type { Actor, SavedResource } from "../../src/control/record.ts";
import type { LatchRequest } from "../../src/control/set-latch.ts";
import type { Ownership } from "../../src/platform/account.ts";
import { identify, isAlive, newMark, signal } from "../../src/platform/process/index.ts";
import { until } from "../support/until.ts";

export const REPO = resolve(import.meta.dirname, "../..");

export interface Lab {
  root: string;
  /** Environment for a child: nothing of ours but what a person would set. */
  env: Record<string, string>;
  folder: ControlFolder;
  /** Runs before the folder is removed; the last first. */
  after(cleanUp: () => unknown): void;
}

/** A state folder that is gone after the test. */
export function lab(t: TestContext, ownership?: Ownership): Lab {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "pcs-c-")));
  const cleanUps: (() => unknown)[] = [];
  t.after(async () => {
    for (const cleanUp of cleanUps.reverse()) await cleanUp();
    rmSync(root, { recursive: true, force: true });
  });
  const env = { PATH: process.env.PATH ?? "", HOME: root, PI_CLAUDE_SUPERVISOR_STATE_DIR: join(root, "state") };
  const opened = openControlFolder({ env, ...(ownership ? { ownership } : {}) });
  if (!opened.ok) throw new Error(opened.message);
  return { root, env, folder: opened.folder, after: (cleanUp) => void cleanUps.push(cleanUp) };
}

export const ACTOR: Actor = { uid: process.getuid?.() ?? 0, kind: "person", tty: true, host: "test" };

let requests = 0;

export function latchRequest(verb: "stop" | "pause", scope: string, more: Partial<LatchRequest> = {}): LatchRequest {
  requests += 1;
  const requestId = `test-request-${requests}`;
  return { verb, scope, how: "now", reason: "a test", cause: "operator", actor: ACTOR, requestId, ...more };
}

export interface Dummy {
  child: ChildProcess;
  resource: SavedResource & { kind: "tree" };
  /** Leader and, once they run, the session that left its group. */
  isAlive(): boolean;
}

/**
 * A worker that ignores TERM, with a command in a session of its own as Claude's Bash tool starts them. It is ended by
 * pid after the test, whatever the test did.
 */
export async function dummyWorker(t: Pick<Lab, "after">, id = "worker"): Promise<Dummy> {
  const mark = newMark(undefined);
  const script = `trap '' TERM; setsid sh -c 'trap "" TERM; echo up; while :; do sleep 1; done' & while :; do sleep 1; done`;
  const child = spawn("/bin/sh", ["-c", script], {
    detached: true,
    env: { PATH: process.env.PATH ?? "", [mark.name]: mark.value },
    stdio: ["ignore", "pipe", "ignore"],
  });
  const leader = identify(child.pid ?? -1);
  if (leader === undefined) throw new Error("The dummy did not start.");
  const resource = {
    id,
    kind: "tree" as const,
    tree: { kind: "census" as const, marker: mark.marker, leader },
    what: "dummy",
  };
  const { sweepResource, stillThere } = await import("../../src/control/sweep.ts");
  t.after(async () => {
    await sweepResource(resource, { kind: "now", graceMs: 0 });
  });
  let isUp = false;
  child.stdout.on("data", () => {
    isUp = true;
  });
  await until(() => isUp, 5000, "the dummy's session is up");
  return { child, resource, isAlive: () => stillThere(resource).length > 0 };
}

export interface FakeController {
  pid: number;
  child: ChildProcess;
  /** Lines that it printed, parsed. */
  lines: Record<string, unknown>[];
  said(event: string): Record<string, unknown> | undefined;
  /** Every process of its dummies, to be proven gone. */
  resources: SavedResource[];
}

/**
 * `obedient` acts on orders; `deaf` never acknowledges; `stubborn` acknowledges and then does nothing; `exhausted` has
 * used up its `descriptors` until it is told `free`, and is obedient beside that.
 */
export async function fakeController(
  where: Lab,
  options: {
    identities: string[];
    manner?: "obedient" | "deaf" | "stubborn" | "exhausted";
    env?: Record<string, string>;
    /** Most open files of its process. */
    descriptors?: number;
  },
): Promise<FakeController> {
  const program = [process.execPath, "--import", "tsx", join(REPO, "test/control/fake-controller.ts")];
  const bound = options.descriptors === undefined ? "" : `ulimit -n ${options.descriptors}; `;
  const child = spawn("/bin/sh", ["-c", `${bound}exec "$@"`, "sh", ...program], {
    cwd: REPO,
    env: {
      ...where.env,
      ...options.env,
      FAKE_IDENTITIES: options.identities.join(","),
      FAKE_MANNER: options.manner ?? "obedient",
      FAKE_CWD: join(where.root),
    },
    stdio: ["pipe", "pipe", "pipe"],
  });
  const self = identify(child.pid ?? -1);
  const lines: Record<string, unknown>[] = [];
  const resources: SavedResource[] = [];
  let errors = "";
  child.stderr.on("data", (chunk) => {
    errors += chunk;
  });
  createInterface({ input: child.stdout }).on("line", (line) => {
    const value = JSON.parse(line) as Record<string, unknown>;
    lines.push(value);
    if (value["event"] === "registered") resources.push(value["resource"] as SavedResource);
  });
  const { sweepResource } = await import("../../src/control/sweep.ts");
  where.after(async () => {
    if (self !== undefined && isAlive(self)) {
      signal(self, "SIGKILL");
      await until(() => !isAlive(self), 5000, "the fake controller is gone");
    }
    for (const resource of resources) await sweepResource(resource, { kind: "now", graceMs: 0 });
  });
  const said = (event: string) => lines.find((line) => line["event"] === event);
  await until(
    () => said("ready") ?? said("refused") ?? (child.exitCode !== null ? { event: "dead" } : undefined),
    15_000,
    () => `the fake controller is ready: ${errors}`,
  );
  if (said("ready") === undefined && said("refused") === undefined) throw new Error(errors);
  return { pid: child.pid ?? -1, child, lines, said, resources };
}
