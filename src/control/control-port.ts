/** What the emergency stop offers to the tasks of one Pi process. */
import type { Result } from "../core/result.ts";
import type { Clock } from "../platform/clock.ts";
import type { StopCheck } from "./check.ts";
import type { EnrollInput } from "./enroll.ts";
import type { RecordEvidence } from "./evidence.ts";
import type { FileDeps } from "./files.ts";
import type { ControlFolder, ControlFolderOptions } from "./folder.ts";
import type { LastRequest } from "./last-request.ts";
import type { StopOrder } from "./orders.ts";
import type { Actor } from "./record.ts";
import type { StopReport } from "./request.ts";
import type { Resumed } from "./resume.ts";
import type { ControlStatus } from "./status.ts";
import type { TaskControl } from "./task-control.ts";

export interface OpenControlOptions extends ControlFolderOptions {
  clock?: Clock;
  /** Hides secrets in reasons and command lines. */
  redact: (text: string) => string;
  /** The event log, a webhook: told beside the stop, never waited for. */
  evidence?: RecordEvidence;
  /** Where the shared folder's stop is looked for without a setting. Default: /var/tmp, on macOS /Users/Shared. */
  platformFolder?: string;
  /** Whether a caller with an agent host's marker may pause. Default true; a stop is always allowed. */
  agentMayPause?: boolean;
  /** Milliseconds between looks where the file system reports no changes. Default 500. */
  pollMs?: number;
  /** Milliseconds after which `after-call` becomes `now`. Default 60000. */
  afterCallMs?: number;
  /** Name of this process's socket; default: random. */
  instanceId?: string;
  fs?: FileDeps["fs"];
}

export interface ControlPort {
  readonly folder: ControlFolder;
  readonly socket: string;
  /** Of the account, or of one identity as well. */
  check(identity?: string): StopCheck;
  /** Takes an identity before its first spawn; a task that is enrolled here already is taken again after a resume. */
  enroll(input: EnrollInput): Promise<Result<{ task: TaskControl }>>;
  task(identity: string): TaskControl | undefined;
  /** Every order for every enrolled task. A listener that throws is passed over. Returns how to stop listening. */
  onStop(listener: (order: StopOrder) => void): () => void;
  /** Looks now; the result is what every task was told. For tests and for the moment after a wake-up. */
  refresh(): Promise<void>;
  /** `/supervise estop stop|pause`: the same as the command. */
  request(input: {
    verb: "stop" | "pause";
    scope: string;
    how?: "now" | "after-call";
    reason: string;
    actor: Actor;
    waitMs?: number;
  }): Promise<Result<{ report: StopReport }>>;
  /** `/supervise estop resume`, after the person typed epoch and identity in the TUI. */
  resume(input: { scope: string; epoch: number; reason: string; actor: Actor }): Promise<Result<{ resumed: Resumed }>>;
  status(scope: string): Result<{ status: ControlStatus }>;
  /** What was last asked of an identity, lifted or not. */
  lastRequest(identity: string): LastRequest | undefined;
  /** The task that has the identity and has not ended in the ordinary way. */
  taskOf(identity: string): string | undefined;
  /** Removes the record of an ended task. Reasons `in-force`, `busy`. */
  forget(identity: string): Result;
  /** The same for every identity of these tasks; what is refused stays. */
  forgetTasks(taskIds: ReadonlySet<string>): void;
  close(): Promise<void>;
}
