/**
 * The dashboard: lists of tasks and of what waits, and one task as a full screen. It holds at most the newest 200 events
 * of the task that is open. A key that acts asks once more; Enter and Escape never act.
 */
import { eventLine } from "../../report/event-line.ts";
import { oneLine } from "../../report/inert.ts";
import type { RequestView, Supervisor, TaskRow, TaskView } from "../../supervisor/api.ts";
import { answerCommands, stateWords } from "../words-for-people.ts";
import { budgetBars, requestDetail, requestRow, sessionRow, taskHead } from "./dashboard-text.ts";
import type { Key, Screen, ScreenHost } from "./screen-port.ts";
import { throttle } from "./throttle.ts";

export type DashboardPage = "sessions" | "approvals";
type Place = { page: "sessions" } | { page: "approvals" } | { page: "task"; taskId: string };

type DashboardSupervisor = Pick<
  Supervisor,
  "sessions" | "approvals" | "status" | "log" | "approve" | "deny" | "stop" | "recover" | "handback" | "subscribe"
>;

const MAX_EVENTS = 200;
const MAX_OUTPUT = 6;
/** Milliseconds between two looks at the supervisor, and between two paints of ages. */
const LOOK_MS = 250;
const AGES_MS = 1_000;
/** Events whose text is what the worker said or what a tool printed. */
const OUTPUT: ReadonlySet<string> = new Set(["worker.text", "worker.stderr", "tool.result"]);

export class Dashboard implements Screen {
  readonly #host: ScreenHost;
  readonly #supervisor: DashboardSupervisor;
  readonly #places: Place[];
  #tasks: TaskRow[] = [];
  #requests: RequestView[] = [];
  #task: TaskView | undefined;
  #events: string[] = [];
  #output: string[] = [];
  #all = false;
  #filter = "";
  #typing = false;
  #selected = 0;
  /** Lines that the timeline is scrolled back. */
  #back = 0;
  #said = "";
  #ask: { question: string; run: () => Promise<string> } | undefined;
  #disposed = false;
  readonly #unsubscribe: () => void;
  readonly #look = throttle(LOOK_MS, () => void this.refresh());
  readonly #ages: NodeJS.Timeout;

  constructor(host: ScreenHost, supervisor: DashboardSupervisor, page: DashboardPage) {
    this.#host = host;
    this.#supervisor = supervisor;
    this.#places = [{ page }];
    this.#unsubscribe = supervisor.subscribe(() => this.#look.soon());
    this.#ages = setInterval(() => this.#host.redraw(), AGES_MS);
    this.#ages.unref();
    this.#look.soon();
  }

  /** Reads what the present page shows. What can't be read stays as it was, and is said. */
  async refresh(): Promise<void> {
    const place = this.#place;
    if (place.page === "sessions") {
      const found = await this.#supervisor.sessions(this.#all);
      if (found.ok) this.#tasks = found.tasks;
    } else if (place.page === "approvals") {
      const found = await this.#supervisor.approvals();
      if (found.ok) this.#requests = found.requests.filter((request) => request.askedOf === "person");
    } else {
      await this.#readTask(place.taskId);
    }
    if (!this.#disposed) this.#host.redraw();
  }

  async #readTask(taskId: string): Promise<void> {
    const [found, log] = await Promise.all([
      this.#supervisor.status(taskId),
      this.#supervisor.log(taskId, { limit: MAX_EVENTS }),
    ]);
    if (!found.ok) {
      this.#said = found.message;
      return;
    }
    this.#task = found.task;
    if (!log.ok) return;
    this.#events = log.events
      .filter((event) => event.type !== "worker.heartbeat")
      .map((event) => eventLine(event, 400));
    this.#output = log.events
      .filter((event) => OUTPUT.has(event.type))
      .slice(-MAX_OUTPUT)
      .flatMap((event) => {
        const { preview } = event.data as { preview?: unknown };
        return typeof preview === "string" ? preview.split("\n").slice(-2) : [];
      })
      .map((line) => oneLine(line, 400))
      .filter((line) => line !== "")
      .slice(-MAX_OUTPUT);
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
    else if (this.#typing) this.#type(key);
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
    if (this.#typing) return [...said, `filter: ${this.#filter}▏  enter: keep · escape: clear`];
    const filter = this.#filter === "" ? [] : [paint.dim(`filter: ${this.#filter}`)];
    return [...said, ...filter, ...flowed(KEYS[this.#place.page], columns).map(paint.dim)];
  }

  #body(height: number, columns: number): string[] {
    const now = Date.now();
    switch (this.#place.page) {
      case "sessions": {
        const rows = this.#shownTasks().map((row) => sessionRow(row, now));
        return rows.length === 0 ? [this.#nothing("No task is open.")] : this.#list(rows, height);
      }
      case "approvals": {
        const shown = this.#shownRequests();
        const chosen = shown[this.#index(shown.length)];
        if (chosen === undefined) return [this.#nothing("Nothing waits for your answer.")];
        const detail = requestDetail(chosen, this.#host.paint).flatMap((line) => wrap(line, columns));
        const room = Math.max(3, height - detail.length - 1);
        const rows = this.#list(
          shown.map((request) => requestRow(request, now)),
          Math.min(room, shown.length),
        );
        return [...rows, "", ...cutMiddle(detail, height - rows.length - 1)];
      }
      case "task":
        return this.#taskBody(height, now);
    }
  }

  #taskBody(height: number, now: number): string[] {
    const task = this.#task;
    const { paint } = this.#host;
    if (task === undefined) return ["…"];
    const asks = task.requests.filter((request) => request.askedOf === "person");
    const top = [
      ...taskHead(task, now, paint),
      ...budgetBars(task, paint),
      ...asks.slice(0, 3).map((request) => paint.warning(`? ${requestRow(request, now)}`)),
      "",
    ];
    const tail = this.#output.length === 0 ? [] : [paint.dim("output"), ...this.#output.map((line) => `  ${line}`)];
    const room = Math.max(3, height - top.length - tail.length - 1);
    this.#back = Math.min(this.#back, Math.max(0, this.#events.length - room));
    const end = this.#events.length - this.#back;
    const more = this.#back > 0 ? ` (${this.#back} newer below)` : "";
    return [...top, paint.dim(`timeline${more}`), ...this.#events.slice(Math.max(0, end - room + 1), end), ...tail];
  }

  #nothing(text: string): string {
    return this.#filter === "" ? text : `Nothing matches "${oneLine(this.#filter, 60)}".`;
  }

  #list(rows: readonly string[], height: number): string[] {
    const index = this.#index(rows.length);
    const from = Math.min(Math.max(0, index - Math.floor(height / 2)), Math.max(0, rows.length - height));
    return rows
      .slice(from, from + height)
      .map((row, at) => (from + at === index ? this.#host.paint.accent(`→ ${row}`) : `  ${row}`));
  }

  #index(length: number): number {
    return Math.min(this.#selected, Math.max(0, length - 1));
  }

  #shownTasks(): TaskRow[] {
    return this.#tasks.filter((row) =>
      this.#matches(`${row.taskId} ${row.recoverable ? "recoverable" : stateWords(row.state)} ${row.goal} ${row.cwd}`),
    );
  }

  #shownRequests(): RequestView[] {
    return this.#requests.filter((request) => this.#matches(`${request.taskId} ${requestRow(request, 0)}`));
  }

  #matches(text: string): boolean {
    return text.toLowerCase().includes(this.#filter.toLowerCase());
  }

  #type(key: Key): void {
    if (key === "enter") this.#typing = false;
    else if (key === "escape") {
      this.#typing = false;
      this.#filter = "";
    } else if (key === "backspace") this.#filter = this.#filter.slice(0, -1);
    else if (typeof key === "object") this.#filter = (this.#filter + key.char).slice(0, 100);
    this.#selected = 0;
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
    switch (key) {
      case "up":
        this.#move(-1);
        return;
      case "down":
        this.#move(1);
        return;
      case "page-up":
        this.#move(-10);
        return;
      case "page-down":
        this.#move(10);
        return;
      case "enter":
        this.#open();
        return;
      case "escape":
        this.#leave();
        return;
      case "tab":
        if (page !== "task") this.#go({ page: page === "sessions" ? "approvals" : "sessions" }, true);
        return;
      case "backspace":
        return;
    }
  }

  #move(by: number): void {
    if (this.#place.page === "task") {
      this.#back = Math.max(0, this.#back - by);
      return;
    }
    const length = this.#place.page === "sessions" ? this.#shownTasks().length : this.#shownRequests().length;
    this.#selected = Math.min(Math.max(0, this.#index(length) + by), Math.max(0, length - 1));
  }

  #letter(char: string): void {
    const id = this.#chosenTask();
    switch (char) {
      case "/":
        this.#typing = this.#place.page !== "task";
        return;
      case "q":
        this.#leave();
        return;
      case "A":
        this.#all = !this.#all;
        this.#look.soon();
        return;
      case "c":
        this.#copy();
        return;
      case "a":
        this.#decide("approve");
        return;
      case "d":
        this.#decide("deny");
        return;
      case "s":
        if (id !== undefined) this.#act(`Stop ${id}?`, () => this.#supervisor.stop(id, undefined));
        return;
      case "r":
        if (id !== undefined) this.#recover(id);
        return;
      default:
        return;
    }
  }

  #recover(id: string): void {
    const state = this.#tasks.find((row) => row.taskId === id)?.state ?? this.#task?.state;
    if (state === "taken_over")
      this.#act(`Hand ${id} back to its worker?`, () => this.#supervisor.handback(id, undefined));
    else this.#act(`Recover ${id}?`, () => this.#supervisor.recover(id, { fresh: false }));
  }

  #decide(decision: "approve" | "deny"): void {
    const request = this.#chosenRequest();
    if (request === undefined) return;
    const id = request.requestId;
    if (decision === "approve" && (request.kind === "question" || request.kind === "sign-off")) {
      this.#said = `${answerCommands(request).join("  or  ")}`;
      return;
    }
    const what = oneLine(request.toolName, 40);
    const act =
      decision === "approve"
        ? () => this.#supervisor.approve(id, undefined, "dialog")
        : () => this.#supervisor.deny(id, undefined, "dialog");
    this.#act(`${decision === "approve" ? "Approve" : "Deny"} ${what} (${id})?`, act);
  }

  /** Asks first; what the act answers is said. */
  #act(question: string, act: () => Promise<{ ok: boolean; message?: string; state?: string; taskId?: string }>): void {
    this.#said = "";
    this.#ask = {
      question,
      run: async () => {
        const done = await act();
        if (!done.ok) return done.message ?? "That was refused.";
        return done.state === undefined ? "Done." : `Done: ${stateWords(done.state)}.`;
      },
    };
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
    return shown[this.#index(shown.length)]?.taskId;
  }

  #chosenRequest(): RequestView | undefined {
    if (this.#place.page === "task") return this.#task?.requests.find((request) => request.askedOf === "person");
    if (this.#place.page !== "approvals") return undefined;
    const shown = this.#shownRequests();
    return shown[this.#index(shown.length)];
  }

  #open(): void {
    const taskId = this.#chosenTask();
    if (this.#place.page === "task" || taskId === undefined) return;
    this.#task = undefined;
    this.#events = [];
    this.#output = [];
    this.#back = 0;
    this.#go({ page: "task", taskId }, false);
  }

  #go(place: Place, instead: boolean): void {
    if (instead) this.#places.pop();
    this.#places.push(place);
    this.#selected = 0;
    this.#filter = "";
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

const KEYS = {
  sessions:
    "↑↓ move · enter open · / filter · A ended too · r recover · s stop · c copy id · tab approvals · esc close",
  approvals: "↑↓ move · a approve · d deny · enter open task · / filter · c copy id · tab tasks · esc close",
  task: "↑↓ scroll · a approve · d deny · r recover · s stop · c copy id · esc back",
} as const;

/** As many parts a line as fit. */
function flowed(keys: string, columns: number): string[] {
  const lines: string[] = [];
  for (const part of keys.split(" · ")) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 3 + part.length <= columns) lines[lines.length - 1] = `${last} · ${part}`;
    else lines.push(part);
  }
  return lines;
}

function wrap(line: string, columns: number): string[] {
  const parts: string[] = [];
  for (let rest = line; ; ) {
    if (rest.length <= columns || columns < 2) return [...parts, rest];
    parts.push(rest.slice(0, columns));
    rest = rest.slice(columns);
  }
}

/** Begin and end of what does not fit, and how much is left out. */
function cutMiddle(lines: readonly string[], height: number): string[] {
  if (lines.length <= height) return [...lines];
  const half = Math.max(1, Math.floor((height - 1) / 2));
  const left = lines.length - 2 * half;
  return [
    ...lines.slice(0, half),
    `[${left} lines are not shown; read all: /supervise approvals --json]`,
    ...lines.slice(-half),
  ];
}

/** Pi paints over what was there: a line ends with a blank. */
function pad(line: string): string {
  return line === "" ? " " : line;
}
