import type { EventDraft } from "../core/events.ts";
import type { AutomationSwitch } from "./automation-switch.ts";
import { dayEvents, heldByDay } from "./day-budget.ts";
import { type DayLedger, dayOf } from "./day-ledger.ts";
import type { DriverPort } from "./effect-port.ts";
import { LOOK_FOR_STOP_MS, takeStopRequest } from "./stop-request.ts";

/**
 * What a running task sees of the world outside it: a stop that another Pi asks for (twice a second), and before
 * anything that an automatic move may follow from, the person's switch and the day's limits.
 */
export class OutsideLook {
  /** This process has claimed the task on its log: only then may it record what it sees by itself. */
  claimed = false;
  readonly #port: DriverPort;
  readonly #automation: AutomationSwitch;
  readonly #days: DayLedger;
  readonly #told: Set<string>;
  #cancel: () => void = () => undefined;
  #closed = false;

  constructor(port: DriverPort, automation: AutomationSwitch, days: { ledger: DayLedger; told: Set<string> }) {
    this.#port = port;
    this.#automation = automation;
    this.#days = days.ledger;
    this.#told = days.told;
    takeStopRequest(port.task.paths); // meant for an owner before us
    this.#again();
  }

  close(): void {
    this.#closed = true;
    this.#cancel();
  }

  /** What the configuration says now that the task does not know yet. */
  seen(): EventDraft[] {
    const { deps, redactor, state } = this.#port;
    const { spec, stop, ended, automation } = state;
    if (!this.claimed || spec?.mode !== "auto" || stop.kind !== "none" || ended.kind !== "no") return [];
    const { to, why, perDay } = this.#automation.look(spec.trustedProject);
    /* Off for another reason than before is told as well. */
    const isAsKnown = automation.kind === to && (automation.kind === "on" || automation.why === redactor.text(why));
    const switched: EventDraft[] = isAsKnown
      ? []
      : [{ type: "automation.changed", data: { to, why: redactor.text(why) } }];
    if (perDay.usd === undefined && perDay.decisions === undefined && heldByDay(state) === null) return switched;
    const day = dayOf(deps.clock.now());
    return [...switched, ...dayEvents(state, this.#days.today(), perDay, this.#told, day)];
  }

  #again(): void {
    this.#cancel = this.#port.deps.clock.setTimer(LOOK_FOR_STOP_MS, () => this.#look(), { background: true });
  }

  #look(): void {
    const { redactor, task } = this.#port;
    const asked = takeStopRequest(task.paths);
    if (asked) {
      const reason = redactor.text(asked.reason);
      this.#port.record({ type: "stop.requested", data: { by: "person", kind: asked.kind, reason, end: "stopped" } });
    }
    if (this.#closed) return;
    const seen = this.seen();
    if (seen.length > 0) this.#port.record(...seen);
    this.#again();
  }
}
