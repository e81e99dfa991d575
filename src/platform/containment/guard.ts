/**
 * A guardian for as long as the tree lives: one that dies while it is needed is replaced, because whatever killed it (a
 * worker's `pkill sh`, the OOM killer) must not decide over what happens at our own death.
 */
import type { ProcessIdentity } from "../../core/contracts/worker.ts";
import type { Result } from "../../core/result.ts";
import type { Guardian } from "./guardian.ts";

/** Something on this machine kills every guardian at once then. */
const MAX_REPLACEMENTS = 20;

export interface GuardOptions {
  /** Starts one for the tree as it is now. */
  start(): Guardian;
  onReplaced(identity: ProcessIdentity): void;
  /** None can be had any more. */
  onLost(): void;
}

export class Guard {
  readonly #options: GuardOptions;
  #guardian: Guardian;
  #state: "watching" | "dismissed" | "lost" = "watching";
  #leader: ProcessIdentity | undefined;
  #replacements = 0;
  /** Resolves when the last guardian has left. */
  readonly ended: Promise<void>;

  constructor(options: GuardOptions) {
    this.#options = options;
    this.#guardian = options.start();
    this.ended = this.#watch();
  }

  get ready(): Promise<Result<{ identity: ProcessIdentity }>> {
    return this.#guardian.ready;
  }

  nameLeader(leader: ProcessIdentity): void {
    this.#leader = leader;
    this.#guardian.nameLeader(leader);
  }

  dropCgroup(): void {
    this.#guardian.dropCgroup();
  }

  /** The tree is proven gone. */
  dismiss(): void {
    if (this.#state === "watching") this.#state = "dismissed";
    this.#guardian.dismiss();
  }

  async #watch(): Promise<void> {
    for (;;) {
      const first = await this.#guardian.ready;
      if (first.ok && this.#replacements > 0) this.#options.onReplaced(first.identity);
      await this.#guardian.ended;
      if (this.#state !== "watching") return;
      // Without a leader the start has failed or is failing, and `ready` says so.
      if (this.#leader === undefined) return;
      if (this.#replacements >= MAX_REPLACEMENTS) {
        this.#state = "lost";
        return this.#options.onLost();
      }
      this.#replacements += 1;
      this.#guardian = this.#options.start();
      this.#guardian.nameLeader(this.#leader);
    }
  }
}
