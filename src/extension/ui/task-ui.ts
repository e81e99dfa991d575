/**
 * Shows the tasks of this process in the present session: chip, widget, milestones, dialogs, and a call by the terminal. It lives as long as the
 * session's port; the next session gets its own.
 */
import { isTerminal } from "../../core/machine/project.ts";
import type { RequestView, Supervisor, TaskUpdate } from "../../supervisor/api.ts";
import { requestViews } from "../../supervisor/view.ts";
import type { PiPort } from "../pi-port.ts";
import type { Hub } from "../session-binding.ts";
import { chipText, widgetLines } from "./chip.ts";
import { openDialogs } from "./dialogs.ts";
import { moreOf } from "./milestone-more.ts";
import { milestone } from "./milestones.ts";
import { terminalBytes } from "./terminal-notice.ts";
import { throttle } from "./throttle.ts";

const WIDGET_KEY = "supervise";

/** Milliseconds between two paints, and between two looks at ages while a task is live. */
const PAINT_MS = 250;
const AGES_MS = 10_000;

function ofPerson(requests: readonly RequestView[]): RequestView[] {
  return requests.filter((request) => request.askedOf === "person");
}

export function showTasks(hub: Hub, supervisor: Supervisor, port: PiPort): { dispose(): void } {
  const dialogs = openDialogs(port, supervisor, hub.later);
  let painted = { chip: undefined as string | undefined, widget: "" };
  let ages: NodeJS.Timeout | undefined;

  const paint = throttle(PAINT_MS, () => {
    const tasks = supervisor.live();
    const chip = chipText(tasks);
    const lines = widgetLines(tasks);
    const widget = lines?.join("\n") ?? "";
    if (chip !== painted.chip) port.setStatus(chip);
    if (widget !== painted.widget) port.setWidget(WIDGET_KEY, lines);
    painted = { chip, widget };
    clearTimeout(ages);
    ages = lines === undefined ? undefined : setTimeout(paint.soon, AGES_MS);
    ages?.unref(); // ages on the screen keep no process alive
  });

  function onUpdate(update: TaskUpdate): void {
    if (port.closed) {
      dispose();
      return;
    }
    try {
      show(update);
    } catch (error) {
      // A fault of the display is the display's own: the supervisor's work goes on.
      port.show(`${update.taskId}: an event could not be shown (${String(error)}).`, "error");
    }
  }

  function show(update: TaskUpdate): void {
    const told = milestone(update);
    if (told !== null) port.tell({ ...told, more: moreOf(update) });
    dialogs.update(update.taskId, ofPerson(requestViews(update.after)));
    paint.soon();
  }

  const unsubscribe = supervisor.subscribe(onUpdate);
  const deaf = supervisor.subscribeCalls(({ terminal, title, goal }) =>
    port.ring(terminalBytes({ how: terminal, title: goal === "" ? "Pi" : `Pi: ${goal}`, body: title }, process.env)),
  );
  function dispose(): void {
    unsubscribe();
    deaf();
    dialogs.dispose();
    paint.cancel();
    clearTimeout(ages);
  }

  for (const task of supervisor.live()) {
    if (isTerminal(task.state)) continue;
    const asked = task.requests.filter((request) => !request.deferred || request.kind === "sign-off");
    dialogs.update(task.taskId, ofPerson(asked));
  }
  paint.soon();
  return { dispose };
}
