import type { EventDraft } from "../core/events.ts";
import { deadlines } from "../core/machine/deadlines.ts";
import type { TaskState } from "../core/machine/state.ts";
import { isAlive } from "../platform/process/index.ts";
import type { DriverPort } from "./effect-port.ts";
import { CLOSED_GATE } from "./task-stop.ts";

/** The one timer of a task: it stands at the next deadline of the state, and what is reached becomes an event. */
export class TaskTimer {
  readonly #port: DriverPort;
  readonly #settle: () => void;
  #armed: { due: number; cancel: () => void } | null = null;

  /** `settle` is called after the events of a deadline: the timer is armed anew there. */
  constructor(port: DriverPort, settle: () => void) {
    this.#port = port;
    this.#settle = settle;
  }

  /** Sets the timer to what the present state waits for. */
  arm(): void {
    const { clock } = this.#port.deps;
    const own = deadlines(this.#port.state).filter((deadline) => deadline.by === "supervisor");
    const due = Math.min(...own.map((deadline) => deadline.due));
    if (!Number.isFinite(due)) {
      this.cancel();
      return;
    }
    if (this.#armed && this.#armed.due <= due) return;
    this.#armed?.cancel();
    const wait = Math.max(0, due - clock.mono());
    this.#armed = { due, cancel: clock.setTimer(wait, () => this.#fire(), { background: true }) };
  }

  cancel(): void {
    this.#armed?.cancel();
    this.#armed = null;
  }

  #fire(): void {
    const port = this.#port;
    this.#armed = null;
    /* A stop that stands comes before whatever the clock would begin. */
    if (port.estop !== CLOSED_GATE) port.estop.held();
    const now = port.deps.clock.mono();
    const reached = deadlines(port.state).filter((deadline) => deadline.by === "supervisor" && deadline.due <= now);
    const contradiction = reached.some((deadline) => deadline.name === "quiet") ? contradictionIn(port.state) : null;
    if (contradiction) port.record(contradiction);
    else for (const deadline of reached) port.record({ type: "timer.fired", data: { name: deadline.name } });
    this.#settle();
  }
}

/** The silence of a worker that is gone, although its adapter has not noticed. */
function contradictionIn({ worker }: TaskState): EventDraft | null {
  if (worker.kind !== "live" || isAlive(worker.containment.leader)) return null;
  const { pid } = worker.containment.leader;
  const detail = `Process ${pid} is gone from the process table, but its end was never reported.`;
  return { type: "gate.incident", data: { fault: "watchdog-contradiction", detail } };
}
