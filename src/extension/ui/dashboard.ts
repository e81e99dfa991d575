/**
 * The dashboard: lists of tasks and of what waits, and one task as a full screen. It holds at most the newest 200 events
 * of the task that is open. A key that acts asks once more; Enter and Escape never act.
 */
import { oneLine } from "../../report/inert.ts";
import type { RequestView, Supervisor, TaskRow } from "../../supervisor/api.ts";
import { stateWords } from "../words-for-people.ts";
import { type Act, type ActingSupervisor, decideAct, recoverAct, stopAct } from "./dashboard-acts.ts";
import { DashboardData, type Place } from "./dashboard-data.ts";
import { approvalsPage, KEYS, type Room, sessionsPage, taskPage } from "./dashboard-pages.ts";
import { requestRow } from "./dashboard-text.ts";
import { Picker } from "./picker.ts";
import { flowed, pad } from "./screen-layout.ts";
import type { Key, Screen, ScreenHost } from "./screen-port.ts";
import { throttle } from "./throttle.ts";

export type DashboardPage = "sessions" | "approvals";

type DashboardSupervisor = ActingSupervisor &
  Pick<Supervisor, "sessions" | "approvals" | "status" | "log" | "subscribe">;

/** Milliseconds between two looks at the supervisor, and between two paints of ages. */
const LOOK_MS = 250;
const AGES_MS = 1_000;

/** Rows that a key moves by. */
const MOVES: Readonly<Partial<Record<Extract<Key, string>, number>>> = {
  up: -1,
  down: 1,
  "page-up": -10,
  "page-down": 10,
};

export class Dashboard implements Screen {
  readonly #host: ScreenHost;
  readonly #supervisor: DashboardSupervisor;
  readonly #data: DashboardData;
  readonly #places: Place[];
  #all = false;
  readonly #picker = new Picker();
  /** Lines that the timeline is scrolled back. */
  #back = 0;
  #said = "";
  #ask: Act | undefined;
  #disposed = false;
  readonly #unsubscribe: () => void;
  readonly #look = throttle(LOOK_MS, () => void this.refresh());
  readonly #ages: NodeJS.Timeout;

  constructor(host: ScreenHost, supervisor: DashboardSupervisor, page: DashboardPage) {
    this.#host = host;
    this.#supervisor = supervisor;
    this.#data = new DashboardData(supervisor);
    this.#places = [{ page }];
    this.#unsubscribe = supervisor.subscribe(() => this.#look.soon());
    this.#ages = setInterval(() => this.#host.redraw(), AGES_MS);
    this.#ages.unref();
    this.#look.soon();
  }

  /** Reads what the present page shows. What can't be read stays as it was, and is said. */
  async refresh(): Promise<void> {
    const problem = await this.#data.read(this.#place, this.#all);
    if (problem !== null) this.#said = problem;
    if (!this.#disposed) this.#host.redraw();
  }

  render(columns: number): string[] {
    const { paint, fit } = this.#host;
    const rows = Math.max(8, this.#host.rows());
    const foot = this.#footer(columns);
    const body = this.#body(rows - foot.length - 2, columns);
    const lines = [paint.accent(fit(`supervise · ${this.#title()}`, columns)), "", ...body];
    while (lines.length < rows - foot.length) lines.push("");
    return [...lines.slice(0, rows - foot.length), ...foot].map((line) => pad(fit(line, columns)));
  }

  press(key: Key): void {
    if (this.#ask !== undefined) this.#answer(key);
    else if (this.#picker.typing) this.#picker.type(key);
    else this.#command(key);
    if (!this.#disposed) this.#host.redraw();
  }

  dispose(): void {
    if (this.#disposed) return;
    this.#disposed = true;
    this.#unsubscribe();
    this.#look.cancel();
    clearInterval(this.#ages);
  }

  get #place(): Place {
    return this.#places.at(-1) ?? { page: "sessions" };
  }

  #title(): string {
    switch (this.#place.page) {
      case "sessions":
        return this.#all ? "all tasks" : "open tasks";
      case "approvals":
        return "what waits for you";
      case "task":
        return "task";
    }
  }

  #footer(columns: number): string[] {
    const { paint } = this.#host;
    if (this.#ask !== undefined) return [paint.warning(`${this.#ask.question}  y: yes · any other key: no`)];
    const said = this.#said === "" ? [] : [oneLine(this.#said, 500)];
    if (this.#picker.typing) return [...said, `filter: ${this.#picker.filter}▏  enter: keep · escape: clear`];
    const filter = this.#picker.filter === "" ? [] : [paint.dim(`filter: ${this.#picker.filter}`)];
    return [...said, ...filter, ...flowed(KEYS[this.#place.page], columns).map(paint.dim)];
  }

  #body(height: number, columns: number): string[] {
    const room: Room = { columns, height, now: Date.now(), paint: this.#host.paint };
    switch (this.#place.page) {
      case "sessions": {
        const rows = this.#shownTasks();
        return rows.length === 0
          ? [this.#nothing("No task is open.")]
          : sessionsPage(rows, this.#picker.index(rows.length), room);
      }
      case "approvals": {
        const shown = this.#shownRequests();
        return shown.length === 0
          ? [this.#nothing("Nothing waits for your answer.")]
          : approvalsPage(shown, this.#picker.index(shown.length), room);
      }
      case "task": {
        const { task } = this.#data;
        if (task === undefined) return ["…"];
        const page = taskPage(task, this.#data, this.#back, room);
        this.#back = page.back;
        return page.lines;
      }
    }
  }

  #nothing(text: string): string {
    return this.#picker.filter === "" ? text : `Nothing matches "${oneLine(this.#picker.filter, 60)}".`;
  }

  #shownTasks(): TaskRow[] {
    return this.#data.tasks.filter((row) =>
      this.#picker.matches(
        `${row.taskId} ${row.recoverable ? "recoverable" : stateWords(row.state)} ${row.goal} ${row.cwd}`,
      ),
    );
  }

  #shownRequests(): RequestView[] {
    return this.#data.requests.filter((request) => this.#picker.matches(`${request.taskId} ${requestRow(request, 0)}`));
  }

  #answer(key: Key): void {
    const ask = this.#ask;
    this.#ask = undefined;
    if (ask === undefined || typeof key !== "object" || key.char.toLowerCase() !== "y") {
      this.#said = "Nothing was done.";
      return;
    }
    this.#said = "…";
    void ask.run().then(
      (said) => {
        this.#said = said;
        this.#look.soon();
      },
      (error: unknown) => {
        this.#said = error instanceof Error ? error.message : String(error);
        this.#host.redraw();
      },
    );
  }

  #command(key: Key): void {
    const { page } = this.#place;
    if (typeof key === "object") {
      this.#letter(key.char);
      return;
    }
    const by = MOVES[key];
    if (by !== undefined) this.#move(by);
    else if (key === "enter") this.#open();
    else if (key === "escape") this.#leave();
    else if (key === "tab" && page !== "task") this.#go({ page: page === "sessions" ? "approvals" : "sessions" }, true);
  }

  #move(by: number): void {
    if (this.#place.page === "task") {
      this.#back = Math.max(0, this.#back - by);
      return;
    }
    const length = this.#place.page === "sessions" ? this.#shownTasks().length : this.#shownRequests().length;
    this.#picker.move(by, length);
  }

  #letter(char: string): void {
    const id = this.#chosenTask();
    const acts: Readonly<Record<string, () => void>> = {
      "/": () => {
        this.#picker.typing = this.#place.page !== "task";
      },
      q: () => this.#leave(),
      A: () => {
        this.#all = !this.#all;
        this.#look.soon();
      },
      c: () => this.#copy(),
      a: () => this.#decide("approve"),
      d: () => this.#decide("deny"),
      s: () => id !== undefined && this.#asks(stopAct(this.#supervisor, id)),
      r: () => id !== undefined && this.#asks(recoverAct(this.#supervisor, id, this.#stateOf(id))),
    };
    if (Object.hasOwn(acts, char)) acts[char]?.();
  }

  #decide(decision: "approve" | "deny"): void {
    const request = this.#chosenRequest();
    if (request !== undefined) this.#asks(decideAct(this.#supervisor, request, decision));
  }

  #asks(act: Act | string): void {
    this.#said = typeof act === "string" ? act : "";
    this.#ask = typeof act === "string" ? undefined : act;
  }

  #stateOf(taskId: string): string | undefined {
    const { task, tasks } = this.#data;
    return task?.taskId === taskId ? task.state : tasks.find((row) => row.taskId === taskId)?.state;
  }

  #copy(): void {
    const id = this.#place.page === "approvals" ? this.#chosenRequest()?.requestId : this.#chosenTask();
    if (id === undefined) return;
    this.#host.copy(id);
    this.#said = `${id} is in the clipboard, where the terminal allows it.`;
  }

  #chosenTask(): string | undefined {
    const place = this.#place;
    if (place.page === "task") return place.taskId;
    if (place.page === "approvals") return this.#chosenRequest()?.taskId;
    const shown = this.#shownTasks();
    return shown[this.#picker.index(shown.length)]?.taskId;
  }

  #chosenRequest(): RequestView | undefined {
    if (this.#place.page === "task") return this.#data.task?.requests.find((request) => request.askedOf === "person");
    if (this.#place.page !== "approvals") return undefined;
    const shown = this.#shownRequests();
    return shown[this.#picker.index(shown.length)];
  }

  #open(): void {
    const taskId = this.#chosenTask();
    if (this.#place.page === "task" || taskId === undefined) return;
    this.#data.forgetTask();
    this.#back = 0;
    this.#go({ page: "task", taskId }, false);
  }

  #go(place: Place, instead: boolean): void {
    if (instead) this.#places.pop();
    this.#places.push(place);
    this.#picker.clear();
    this.#said = "";
    void this.refresh();
  }

  #leave(): void {
    if (this.#places.length > 1) {
      this.#places.pop();
      this.#said = "";
      void this.refresh();
      return;
    }
    this.dispose();
    this.#host.close();
  }
}
