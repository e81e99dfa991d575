/** The scripted `claude` plays a list of steps: what other tests build their own scenarios from. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { fakeClaudeSteps } from "../support/fake-claude/index.ts";
import { isAlive } from "../support/processes.ts";
import { createLab } from "../support/workspace.ts";
import { drive } from "./driver.ts";
import { FAKE_FACTS } from "./fake-scene.ts";

test("steps are played in order, and good turns follow", async (t) => {
  const lab = await createLab(t);
  const fake = fakeClaudeSteps(lab.root, [
    { handshake: {} },
    { prompt: true },
    { init: { permissionMode: "plan" } },
    { say: "hello" },
    { hook: { tool: "Bash", input: { command: "ls" } } },
    { child: { what: "server", command: ["sleep", "600"], detached: true } },
    { raw: "noise\n" },
    { emit: { type: "future" } },
    { result: { result: "first" } },
  ]);
  const driven = await drive({
    lab,
    cwd: lab.root,
    executable: FAKE_FACTS,
    env: fake.env,
    onHook: () => ({ decision: "deny", reason: "no" }),
  });
  assert.equal((await driven.worker.start()).ok, true);
  await driven.prompt("one");
  await driven.next("result", (event) => event.text === "first");
  await driven.prompt("two");
  await driven.next("result", (event) => event.text === "done");
  assert.deepEqual(
    driven.of("init").map((event) => event.permissionMode),
    ["plan", "default"],
  );
  assert.equal(driven.worker.getStatus().noiseLines, 1);
  assert.match(JSON.stringify(fake.factsOf("note")), /"permissionDecision":"deny"/);
  const [child] = fake.factsOf("child");
  assert.equal(isAlive(child?.pid ?? 0), true);
  assert.equal((await driven.worker.stop({ kind: "graceful", graceMs: 1000 })).proven, true);
  assert.equal(isAlive(child?.pid ?? 0), false);
});
