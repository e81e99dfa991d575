/** What somebody does who has just installed: the README's first task, word for word, to its completed end. */
import { cp } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { bash, text, toolUse } from "../../test/support/model-reply.ts";
import { startModelServer } from "../../test/support/model-server.ts";
import { type Pi, startPi } from "../../test/support/pi.ts";
import type { PiLine } from "../../test/support/pi-setup.ts";
import { assertNoneLeft } from "../../test/support/processes.ts";
import { waitForState } from "../../test/support/task.ts";
import { until } from "../../test/support/until.ts";
import type { Lab } from "../../test/support/workspace.ts";
import { WHOLE_FIX } from "../demo/model.ts";

const REPOSITORY = fileURLToPath(new URL("../demo/repo", import.meta.url));
const DEADLINE_MS = 120_000;

export interface Newcomer {
  lab: Lab;
  line: PiLine;
  home: string;
  /** The README's command, e.g. `/supervise start …`. */
  command: string;
  env: Readonly<Record<string, string | undefined>>;
}

/** Resolves with what was seen; throws at the first step that is not as the README says. */
export async function firstTask({ lab, line, home, command, env }: Newcomer): Promise<string> {
  const cwd = await lab.repo({});
  await cp(REPOSITORY, cwd, { recursive: true });
  await lab.git(cwd, "add", "-A");
  await lab.git(cwd, "commit", "-q", "-m", "A parser with a failing test");
  const model = await startModelServer();
  try {
    model.script("main", [
      bash('node probe.mjs "1h 30m"', { say: "First I try what the parser does." }),
      toolUse("Write", { file_path: join(cwd, "src", "duration.js"), content: WHOLE_FIX }),
      text("Durations of several parts add up now."),
    ]);
    const pi = await startPi({ lab, modelServer: model, line, cwd, home, installed: true, env });
    try {
      return await follow(pi, command, cwd);
    } finally {
      await pi.quit(30_000);
      await assertNoneLeft(lab.mark, 20_000);
    }
  } finally {
    await model.close();
  }
}

async function follow(pi: Pi, command: string, cwd: string): Promise<string> {
  const [said = ""] = await pi.runForPeople(command, { deadlineMs: DEADLINE_MS });
  const id = /^Task (t-\w+) has begun in (.*) \(manual\)\.$/m.exec(said)?.[1];
  if (id === undefined || !said.includes(cwd)) throw new Error(`start did not say what the README shows: ${said}`);
  const stop = /^Stop: (\/supervise stop \S+)$/m.exec(said)?.[1];
  const look = /^Look: (\/supervise status \S+)$/m.exec(said)?.[1];
  if (stop === undefined || look === undefined) throw new Error(`start names no stop or status command: ${said}`);
  const dialog = await pi.waitForUi(
    (request) => request.method === "select" && (request.title ?? "").includes("probe.mjs"),
    DEADLINE_MS,
    "the dialog about the worker's program",
  );
  const approve = dialog.options?.find((option) => option.startsWith("Approve"));
  if (approve === undefined) throw new Error(`the dialog offers no approval: ${JSON.stringify(dialog.options)}`);
  pi.answer(dialog, { value: approve });
  await until(
    async () => (await pi.run(`/supervise status ${id} --json`)).waitsFor === "result",
    DEADLINE_MS,
    () => `the end of the turn; shown: ${pi.notifications().at(-1)}`,
    250,
  );
  await pi.runForPeople(`/supervise verify ${id}`, { deadlineMs: DEADLINE_MS });
  await waitForState(pi, id, ["completed"], DEADLINE_MS);
  const seen = (await pi.runForPeople(look)).join("\n");
  if (!/completed/.test(seen)) throw new Error(`status does not say completed: ${seen}`);
  const stopped = await pi.run(`${stop} --json`);
  if (stopped.ok !== true || stopped.state !== "completed") throw new Error(`stop: ${JSON.stringify(stopped)}`);
  return `${id} completed`;
}
