/**
 * The supervisor's side of `guardian.sh`: a process outside our lifetime that holds the other end of a pipe and ends the
 * tree when that pipe closes, which the kernel does for us however we die. Descriptors that Node opens are
 * close-on-exec, so no worker can hold our end of it open.
 */
import type { execa as Execa } from "execa";
import type { ProcessIdentity } from "../../core/contracts/worker.ts";
import { failure, type Result } from "../../core/result.ts";
import { identify } from "../process/identity.ts";
import { inheritedMark } from "../process/mark.ts";
import { killSpawned } from "./kill-spawned.ts";
import { readLine } from "./read-line.ts";
import { GUARDIAN, SHELL } from "./scripts.ts";

export interface GuardianInput {
  /** The tree's id and its RLIMIT_LOCKS (`undefined`: not set). */
  id: string;
  locks: number | undefined;
  cgroup: string | undefined;
  /** The worker's temporary folder: removed when the tree is gone. */
  tmpDir: string | undefined;
  /** Milliseconds between TERM and kill. */
  graceMs: number;
  /** Milliseconds for the shell to come up. */
  setupTimeoutMs: number;
}

export interface Guardian {
  /** Resolves when it watches, or with the reason why it does not; nothing of it is left then. */
  ready: Promise<Result<{ identity: ProcessIdentity }>>;
  nameLeader(leader: ProcessIdentity): void;
  /** The tree did not get into the cgroup: that folder is removed, the census is used. */
  dropCgroup(): void;
  /** The tree is proven gone: the guardian removes its folders and leaves. */
  dismiss(): void;
  /** Resolves when the guardian has ended, for whatever reason. */
  ended: Promise<void>;
}

/**
 * Starts one. On return the process exists and will notice our death, even while its shell is still starting. It
 * does not keep our event loop alive while it watches.
 */
export function startGuardian(execa: typeof Execa, input: GuardianInput): Guardian {
  const locks = input.locks === undefined ? "" : String(input.locks);
  const grace = String(Math.round(input.graceMs / 10));
  const child = execa(SHELL, [GUARDIAN, input.id, locks, input.cgroup ?? "", input.tmpDir ?? "", grace], {
    // Nobody's folder is kept busy, and no terminal's hang-up or interrupt reaches its own session.
    cwd: "/",
    detached: true,
    cleanup: false,
    buffer: false,
    reject: false,
    stdin: "pipe",
    stdout: "pipe",
    stderr: "ignore",
    extendEnv: false,
    env: inheritedMark(),
  });
  const line = readLine(child.stdout, input.setupTimeoutMs);
  const result = child.then((end) => end.originalMessage ?? `exit code ${end.exitCode}`);
  // A guardian that is gone is noticed by `ended`; writing to it is without effect then.
  child.stdin.on("error", () => undefined);
  const tell = (text: string): void => {
    if (child.stdin.writable) child.stdin.write(`${text}\n`);
  };
  child.unref();
  for (const stream of [child.stdin, child.stdout]) if ("unref" in stream) (stream.unref as () => void)();
  return {
    ready: line.then(async (text) => {
      const identity = text === "ready" && child.pid !== undefined ? identify(child.pid) : undefined;
      if (identity !== undefined) return { ok: true, identity };
      killSpawned(child);
      return failure(
        "no-guardian",
        `The guardian, which ends the worker when Pi dies, did not start (${await result}). ${SHELL} must be a POSIX shell.`,
      );
    }),
    nameLeader: (leader) => tell(`leader ${leader.pid} ${leader.startTicks}`),
    dropCgroup: () => tell("outside"),
    dismiss: () => {
      tell("gone");
      // It leaves within milliseconds: whoever waits for `ended` now really waits.
      child.ref();
    },
    ended: result.then(() => undefined),
  };
}
