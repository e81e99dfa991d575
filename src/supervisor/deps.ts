/** Everything of the outside that the supervisor uses, in one record: the seams of architecture.md and nothing more. */
import type { DecisionSessionFactory } from "../core/contracts/decision.ts";
import type { Redactor, RedactorOptions } from "../core/contracts/redaction.ts";
import type { TransportName, WorkerAdapter, WorkerStartInput } from "../core/contracts/worker.ts";
import type { violations } from "../core/invariants.ts";
import type { AccountLookup } from "../platform/account.ts";
import type { Clock } from "../platform/clock.ts";
import type { IdSource } from "../platform/ids.ts";
import type { StateLayout } from "../store/layout.ts";
import type { LogFs } from "../store/log-fs.ts";
import type { WorkerDeps } from "../worker/deps.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

export interface SupervisorDeps {
  env: Environment;
  /** Pi's agent folder, where the person's `supervisor.json` lies. */
  agentDir: string | undefined;
  layout: StateLayout;
  clock: Clock;
  ids: IdSource;
  /** The account's home folder. */
  home: string;
  host: string;
  /** Salt of the markers that stand for secrets; one for each state folder, so that repeats can be linked. */
  salt: string;
  /** Where the shared stop is looked for. Default: the account's own home, and the system's shared folder. */
  sharedStop?: { account: AccountLookup; platformFolder: string };
  /** The logs' system calls. Default: the real ones. */
  logFs?: LogFs;
  /** Pi's SDK, lent by the extension; absent: nobody decides, every question is a person's. */
  decisions?: DecisionSessionFactory;
  /** Milliseconds for one decision. Default: that of the decision room. */
  decisionTimeoutMs?: number;
  /** Judges each step. Default: the ten invariants. */
  violations?: typeof violations;
  createRedactor(options: RedactorOptions): Redactor;
  createWorker(transport: TransportName, input: WorkerStartInput, deps: WorkerDeps): WorkerAdapter;
}
