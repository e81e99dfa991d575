/**
 * The emergency stop where nothing was built, as after `pi install` of a folder or of a git URL: a Pi that is killed leaves
 * nothing (the guardian), the command that a start shows stops everything (STOP-ALL), and `/supervise estop` works.
 */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { bash, text } from "../../test/support/model-reply.ts";
import { startModelServer } from "../../test/support/model-server.ts";
import { type Json, type Pi, startPi } from "../../test/support/pi.ts";
import type { PiLine } from "../../test/support/pi-setup.ts";
import { assertNoneLeft, processesWithMark } from "../../test/support/processes.ts";
import { until } from "../../test/support/until.ts";
import type { Lab } from "../../test/support/workspace.ts";

const run = promisify(execFile);
const DEADLINE_MS = 120_000;
const HOLD = "sleep 601 & setsid sleep 602 & sleep 603\n";

export interface Unbuilt {
  lab: Lab;
  line: PiLine;
  home: string;
  env: Readonly<Record<string, string | undefined>>;
}

/** Resolves with what was seen; throws at the first thing that is not so. */
export async function stopUnbuilt({ lab, line, home, env }: Unbuilt): Promise<string> {
  const modelServer = await startModelServer();
  modelServer.script("main", (request) => (request.toolResults().length > 0 ? text("Done.") : bash("sh hold.sh")));
  const pis: Pi[] = [];
  const open = async (): Promise<Pi> => {
    const cwd = await lab.repo({ "a.txt": "x\n" });
    const pi = await startPi({ lab, modelServer, line, cwd, home, installed: true, env });
    pis.push(pi);
    return pi;
  };
  try {
    const first = await open();
    await hold(lab, first);
    await first.kill();
    await assertNoneLeft(lab.mark, 20_000);

    const second = await open();
    const { taskId, command } = await hold(lab, second);
    if (!command.startsWith("touch ")) throw new Error(`the start shows no file to touch: ${command}`);
    await run("/bin/sh", ["-c", command]);
    await until(() => sleepers(lab) === 0, 20_000, "the end of what the worker had started");
    await until(
      async () => (await second.run(`/supervise status ${taskId} --json`))["state"] === "stopped",
      20_000,
      "the stop of the task",
    );
    const status = await second.run("/supervise estop status --json");
    expect(status, status["ok"] === true && status["inForce"] === true && Number(status["epoch"]) > 0);
    const refused = await second.run(`/supervise recover ${taskId} --json`);
    expect(refused, refused["ok"] === false && refused["reason"] === "estop");
    const stop = await second.run("/supervise estop stop --json");
    expect(stop, stop["ok"] === true && stop["exitCode"] === 0);
    return "guardian, STOP-ALL and /supervise estop work unbuilt";
  } finally {
    for (const pi of pis) await pi.quit(30_000);
    await modelServer.close();
    await assertNoneLeft(lab.mark, 20_000);
  }
}

/** A task whose worker's tool call holds on; and the line for a shell that its start shows. */
async function hold(lab: Lab, pi: Pi): Promise<{ taskId: string; command: string }> {
  const cwd = await lab.repo({ "hold.sh": HOLD });
  const started = await pi.run(`/supervise start Hold it --cwd ${cwd} --mode manual --verify "true" --json`, {
    deadlineMs: DEADLINE_MS,
  });
  expect(started, started["ok"] === true);
  const taskId = String(started["taskId"]);
  const asked = await until(
    async () => {
      const { requests } = await pi.run("/supervise approvals --json");
      return (requests as { taskId: string; requestId: string }[]).find((one) => one.taskId === taskId);
    },
    DEADLINE_MS,
    "the question about the worker's program",
    250,
  );
  const approved = await pi.run(`/supervise approve ${asked.requestId} --json`);
  expect(approved, approved["ok"] === true);
  await until(() => sleepers(lab) === 3, DEADLINE_MS, "three sleeping children");
  return { taskId, command: String(started["emergencyStopCommand"]) };
}

function sleepers(lab: Lab): number {
  return processesWithMark(lab.mark).filter(({ command }) => /^sleep 60\d/.test(command)).length;
}

function expect(answer: Json, isSo: boolean): void {
  if (!isSo) throw new Error(`not as it should be: ${JSON.stringify(answer)}`);
}
