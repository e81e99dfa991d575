/** The main job, end to end: real Pi (both lines), real Claude Code, scripted model. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { bash, text } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { startPi } from "../support/pi.ts";
import { PI_LINES, skipReason } from "../support/pi-setup.ts";
import { logProblems, readEvents, readTask, waitForState } from "../support/task.ts";
import { createLab } from "../support/workspace.ts";

const FAILING = {
  "sum.mjs": "export const sum = (a, b) => a - b;\n",
  "sum.test.mjs":
    'import { test } from "node:test";\nimport assert from "node:assert/strict";\nimport { sum } from "./sum.mjs";\ntest("sum", () => assert.equal(sum(2, 3), 5));\n',
};

for (const line of PI_LINES) {
  const skip = (await skipReason(line)) ?? false;
  describe(`the main job on Pi ${line}`, { skip }, () => {
    test("an automatic task gets its failing evidence, mends the code and ends completed", async (t) => {
      const lab = await createLab(t);
      const modelServer = await startModelServer();
      lab.defer(() => modelServer.close());
      modelServer.script("main", [
        bash("ls"),
        text("All done, every test is green!"),
        bash("echo 'export const sum = (a, b) => a + b;' > sum.mjs"),
        text("Now it is right."),
      ]);
      const cwd = await lab.repo(FAILING);
      const pi = await startPi({ lab, modelServer, line, cwd });
      lab.defer(() => pi.quit());
      const started = await pi.run('/supervise start Mend sum --mode auto --verify "node --test" --json');
      assert.equal(started.ok, true, JSON.stringify(started));
      const taskId = String(started.taskId);
      await waitForState(pi, taskId, ["completed"], 60_000);
      const events = await readEvents(lab.stateDir, taskId);
      const outcomes = events.filter((event) => event.type === "verify.finished").map((event) => event.data.outcome);
      assert.deepEqual(outcomes, ["fail", "pass"]);
      const listing = events.find((event) => event.type === "gate.verdict" && event.data.toolName === "Bash");
      assert.equal(listing?.data.verdict, "allow", "even `ls`, which Claude never asks about, passes the gate");
      assert.deepEqual(await logProblems(lab.stateDir, taskId), []);
      const replayed = await pi.run(`/supervise replay ${taskId} --json`);
      assert.deepEqual([replayed.ok, replayed.matches, replayed.state], [true, true, "completed"], JSON.stringify(replayed));
      assert.equal((await readTask(lab.stateDir, taskId)).state, "completed");
      const evidence = modelServer.requests.flatMap((request) => request.userTexts()).filter((said) => said.includes("$ node --test"));
      assert.ok(evidence.length > 0, "the worker saw the failing command");
    });
  });
}
