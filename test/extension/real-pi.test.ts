/** Facts that only the real Pi can show: exit codes of print mode, signals, and that loading costs little. */
import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { bash, text } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { startPi } from "../support/pi.ts";
import { runPrint } from "../support/pi-print.ts";
import { PI_LINES, skipReason } from "../support/pi-setup.ts";
import { readEvents } from "../support/task.ts";
import { createLab, type Lab } from "../support/workspace.ts";

async function scene(t: Parameters<typeof createLab>[0]) {
  const lab = await createLab(t);
  const modelServer = await startModelServer();
  lab.defer(() => modelServer.close());
  return { lab, modelServer, cwd: await lab.repo({ "a.txt": "hello\n" }) };
}

async function eventsOf(lab: Lab) {
  const [taskId = ""] = await readdir(join(lab.stateDir, "tasks"));
  return readEvents(lab.stateDir, taskId);
}

for (const line of PI_LINES) {
  const skip = (await skipReason(line)) ?? false;

  test(`print mode waits for the end, answers once and exits with 0 (Pi ${line})`, { skip }, async (t) => {
    const { modelServer, ...where } = await scene(t);
    modelServer.script("main", [bash("ls"), text("Done.")]);
    const prompt = '/supervise start Look around --mode auto --verify "true" --json';
    const ran = await runPrint({ ...where, modelServer, line, prompt });
    const lines = ran.stderr.split("\n").filter((one) => one.startsWith("{"));
    assert.equal(lines.length, 1, ran.stderr);
    assert.deepEqual([ran.answers[0]?.ok, ran.answers[0]?.state, ran.code], [true, "completed", 0]);
    assert.equal(ran.stdout, "");
  });

  test(`JSON mode that comes to a person's question exits with 3 and leaves the task (Pi ${line})`, {
    skip,
  }, async (t) => {
    const { modelServer, ...where } = await scene(t);
    modelServer.script("main", [bash("node -e 1")]);
    const prompt = '/supervise start Look around --mode auto --verify "true" --json';
    const ran = await runPrint({ ...where, modelServer, line, prompt, mode: "json" });
    assert.deepEqual(
      [ran.answers[0]?.state, ran.answers[0]?.waitsFor, ran.code],
      ["human_required", "approval", 3],
      ran.stderr,
    );
    assert.ok(
      (await eventsOf(where.lab)).some((event) => event.type === "owner.released" && event.data.why === "quit"),
    );
  });

  test(`SIGINT ends the worker first, and then Pi as ever (Pi ${line})`, { skip }, async (t) => {
    const { modelServer, ...where } = await scene(t);
    modelServer.script("main", [bash("node -e 1")]);
    const pi = await startPi({ ...where, modelServer, line });
    await pi.run('/supervise start Look around --verify "true" --json');
    await pi.waitForUi((request) => request.method === "select", 30_000, "the dialog");
    process.kill(pi.pid, "SIGINT");
    assert.deepEqual(await pi.exited, { code: null, signal: "SIGINT" });
    assert.ok(
      (await eventsOf(where.lab)).some((event) => event.type === "owner.released" && event.data.why === "quit"),
    );
  });
}
