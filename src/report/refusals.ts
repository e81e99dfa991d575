/** Calls that did not run: denied by the gate, the Decision Worker or a person. */
import type { Call, Refusal } from "./model.ts";
import { Tail, tally } from "./tail.ts";

const MAX_REFUSALS = 300;

export class Refusals {
  readonly byRule: Record<string, number> = {};
  readonly #list = new Tail<Refusal>(MAX_REFUSALS);

  /** `reason`: in place of the gate's own. */
  add(call: Call, { seq, at, by, reason }: { seq: number; at: string; by: string; reason?: string | undefined }): void {
    const { tool, subject, rule } = call;
    this.#list.add({ seq, at, tool, subject, rule, reason: reason ?? call.reason, by });
    tally(this.byRule, rule);
  }

  get items(): Refusal[] {
    return this.#list.items;
  }

  get more(): number {
    return this.#list.more;
  }
}
