/** What the dashboard has read: lists, and of the open task its view, newest events and the end of its output. */
import { eventLine } from "../../report/event-line.ts";
import { oneLine } from "../../report/inert.ts";
import type { RequestView, Supervisor, TaskRow, TaskView } from "../../supervisor/api.ts";

export type Place = { page: "sessions" } | { page: "approvals" } | { page: "task"; taskId: string };

/** Newest events of the open task that are held. */
const MAX_EVENTS = 200;
const MAX_OUTPUT = 6;
/** Events whose text is what the worker said or what a tool printed. */
const OUTPUT: ReadonlySet<string> = new Set(["worker.text", "worker.stderr", "tool.result"]);

export class DashboardData {
  readonly #supervisor: Pick<Supervisor, "sessions" | "approvals" | "status" | "log">;
  tasks: TaskRow[] = [];
  /** Those that a person is asked. */
  requests: RequestView[] = [];
  task: TaskView | undefined;
  events: string[] = [];
  output: string[] = [];
  /** The task that is open; what is still read of another one comes too late. */
  #open: string | undefined;

  constructor(supervisor: Pick<Supervisor, "sessions" | "approvals" | "status" | "log">) {
    this.#supervisor = supervisor;
  }

  /** Reads what a place shows; resolves with what there is to say of it, or null. What can't be read stays as it was. */
  async read(place: Place, all: boolean): Promise<string | null> {
    switch (place.page) {
      case "sessions": {
        const found = await this.#supervisor.sessions(all);
        if (!found.ok) return found.message;
        this.tasks = found.tasks;
        return null;
      }
      case "approvals": {
        const found = await this.#supervisor.approvals();
        if (!found.ok) return found.message;
        this.requests = found.requests.filter((request) => request.askedOf === "person");
        return null;
      }
      case "task":
        return this.#readTask(place.taskId);
    }
  }

  /** Another task is opened: nothing of the last one is shown for it. */
  forgetTask(): void {
    this.task = undefined;
    this.events = [];
    this.output = [];
  }

  async #readTask(taskId: string): Promise<string | null> {
    this.#open = taskId;
    const [found, log] = await Promise.all([
      this.#supervisor.status(taskId),
      this.#supervisor.log(taskId, { limit: MAX_EVENTS }),
    ]);
    if (this.#open !== taskId) return null;
    if (!found.ok) return found.message;
    this.task = found.task;
    if (!log.ok) return log.message;
    this.events = log.events.filter((event) => event.type !== "worker.heartbeat").map((event) => eventLine(event, 400));
    this.output = log.events
      .filter((event) => OUTPUT.has(event.type))
      .slice(-MAX_OUTPUT)
      .flatMap((event) => {
        const { preview } = event.data as { preview?: unknown };
        return typeof preview === "string" ? preview.split("\n").slice(-2) : [];
      })
      .map((line) => oneLine(line, 400))
      .filter((line) => line !== "")
      .slice(-MAX_OUTPUT);
    return null;
  }
}
