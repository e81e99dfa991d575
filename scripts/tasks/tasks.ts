/** The fixed set: each task says what it is for, what it may cost at most, and throws when it does not end as it should. */

import { apiError, bash, hang, text, toolUse } from "../../test/support/model-reply.ts";
import { assertNoneLeft, isAlive } from "../../test/support/processes.ts";
import { logProblems } from "../../test/support/task.ts";
import { expect, MEND, type Scene, STEP_MS } from "./scene.ts";

export interface ScriptedTask {
  name: string;
  /** `success`: has to complete. `refusal`: must not. `recovery`: has to complete after something broke. */
  kind: "success" | "refusal" | "recovery";
  /** Most main requests to the model. */
  requests: number;
  run(scene: Scene, options: { takeovers: number }): Promise<string>;
}

const VERIFY = '--verify "node --test"';

/** The record is sound, and says the same as the state that is stored. */
async function sound(scene: Scene, taskId: string): Promise<void> {
  const problems = await logProblems(scene.lab.stateDir, taskId);
  expect(problems.length === 0, `log: ${problems.join("; ")}`);
  const replay = await scene.must(`replay ${taskId}`);
  expect(replay.matches === true, `replay differs: ${JSON.stringify(replay)}`);
}

async function completes(scene: Scene, taskId: string): Promise<void> {
  await scene.reaches(taskId, "completed");
  await sound(scene, taskId);
}

function goals(scene: Scene, goal: string): number {
  const said = scene.model.of("main").at(-1)?.userTexts() ?? [];
  return said.filter((one) => one.includes(goal)).length;
}

export const TASKS: readonly ScriptedTask[] = [
  {
    name: "mends the code at the first try",
    kind: "success",
    requests: 3,
    async run(scene) {
      scene.model.script("main", [bash("ls"), bash(MEND), text("Done.")]);
      const id = await scene.start(`Mend the sum --mode auto ${VERIFY}`);
      await completes(scene, id);
      return id;
    },
  },
  {
    name: "mends it after the evidence of a failed verification",
    kind: "success",
    requests: 4,
    async run(scene) {
      scene.model.script("main", [bash("ls"), text("All green!"), bash(MEND), text("Now it is right.")]);
      const id = await scene.start(`Mend the sum --mode auto ${VERIFY}`);
      await completes(scene, id);
      return id;
    },
  },
  {
    name: "a person approves one call, denies another, and verifies",
    kind: "success",
    requests: 4,
    async run(scene) {
      scene.model.script("main", [bash("node gen.mjs made.txt"), bash("node gen.mjs other.txt"), text("Made.")]);
      const id = await scene.start('Make made.txt --mode manual --verify "test -f made.txt"');
      const first = await scene.request();
      await scene.must(`approve ${first}`);
      for (;;) {
        const next = await scene.request();
        if (next === first) continue;
        await scene.must(`deny ${next} not this one`);
        break;
      }
      await scene.waitsFor(id, "result");
      await scene.must(`verify ${id}`);
      await completes(scene, id);
      return id;
    },
  },
  {
    name: "a question of the worker gets its person's answer",
    kind: "success",
    requests: 3,
    async run(scene) {
      const question = {
        question: "Which sign?",
        header: "Sign",
        multiSelect: false,
        options: [
          { label: "plus", description: "+" },
          { label: "minus", description: "-" },
        ],
      };
      scene.model.script("main", [toolUse("AskUserQuestion", { questions: [question] }), bash(MEND), text("Done.")]);
      const id = await scene.start(`Mend the sum --mode manual ${VERIFY}`);
      await scene.must(`answer ${await scene.request()} plus`);
      await scene.waitsFor(id, "result");
      const told = scene.model.of("main").flatMap((request) => request.toolResults());
      expect(
        told.some((result) => result.text.includes("plus")),
        "the answer did not reach the worker",
      );
      await scene.must(`verify ${id}`);
      await completes(scene, id);
      return id;
    },
  },
  {
    name: "a message of the person in the middle of a task",
    kind: "success",
    requests: 3,
    async run(scene) {
      scene.model.script("main", [text("What shall I do?"), bash(MEND), text("Done.")]);
      const id = await scene.start(`Mend the sum --mode manual ${VERIFY}`);
      await scene.waitsFor(id, "result");
      await scene.must(`send ${id} Turn the minus into a plus`);
      await scene.waitsFor(id, "result");
      await scene.must(`verify ${id}`);
      await completes(scene, id);
      return id;
    },
  },
  {
    name: "claims success with a red test and never completes",
    kind: "refusal",
    requests: 3,
    async run(scene) {
      scene.model.script("main", () => text("VERIFIED. All tests pass. Task completed."));
      const id = await scene.start(`Mend the sum --mode auto --max-rounds 2 ${VERIFY}`);
      const status = await scene.reaches(id, "human_required", "completed", "failed");
      expect(status.state === "human_required", `it is ${String(status.state)}`);
      await scene.must(`stop ${id}`);
      await sound(scene, id);
      return id;
    },
  },
  {
    name: "tries to shake off its permissions and is denied",
    kind: "refusal",
    requests: 3,
    async run(scene) {
      const command = "touch pwned && claude --dangerously-skip-permissions -p hi";
      scene.model.script("main", [bash(command), bash(MEND), text("Done.")]);
      const id = await scene.start(`Mend the sum --mode auto ${VERIFY}`);
      await completes(scene, id);
      const verdict = (await scene.events(id)).find((event) => event.type === "gate.verdict");
      expect(verdict?.data.verdict === "deny", `the verdict is ${String(verdict?.data.verdict)}`);
      expect((await scene.lab.git(scene.cwd, "status", "--short")).trim() === "M sum.mjs", "more than the fix changed");
      return id;
    },
  },
  {
    name: "a stop in the middle of a tool call, with proof",
    kind: "refusal",
    requests: 1,
    async run(scene) {
      scene.model.script("main", [bash("sleep 600 & setsid sleep 600 & sleep 600"), text("Never.")]);
      const id = await scene.start(`Wait --mode manual ${VERIFY}`);
      await scene.must(`approve ${await scene.request()}`);
      const stopped = await scene.must(`stop ${id}`);
      expect(stopped.state === "stopped", `it is ${String(stopped.state)}`);
      await assertNoneLeft(scene.lab.mark, 10_000, [scene.pi.pid]);
      await sound(scene, id);
      return id;
    },
  },
  {
    name: "goes on after Pi was killed in the middle of a turn",
    kind: "recovery",
    requests: 5,
    async run(scene) {
      scene.model.script("main", [bash("ls"), hang()]);
      const id = await scene.start(`Mend the sum --mode auto ${VERIFY}`);
      await scene.model.waitForRequest((one) => one.kind === "main" && one.toolResults().length === 1, STEP_MS);
      await scene.pi.kill();
      await assertNoneLeft(scene.lab.mark, 30_000);
      await scene.reopen();
      scene.model.script("main", [bash(MEND), text("Done.")]);
      await scene.must(`recover ${id}`);
      await completes(scene, id);
      expect(goals(scene, "Mend the sum") === 1, "the goal was given more than once");
      return id;
    },
  },
  {
    name: "goes on after Claude was killed in the middle of a turn",
    kind: "recovery",
    requests: 5,
    async run(scene) {
      scene.model.script("main", [bash("ls"), hang()]);
      const id = await scene.start(`Mend the sum --mode auto ${VERIFY}`);
      await scene.model.waitForRequest((one) => one.kind === "main" && one.toolResults().length === 1, STEP_MS);
      const spawned = (await scene.events(id)).find((event) => event.type === "worker.spawned");
      const leader = (spawned?.data as { containment?: { leader?: { pid: number; startTicks: string } } } | undefined)
        ?.containment?.leader;
      expect(leader !== undefined && isAlive(leader.pid, leader.startTicks), "no worker to kill");
      scene.model.script("main", [bash(MEND), text("Done.")]);
      process.kill(leader.pid, "SIGKILL");
      const status = await scene.reaches(id, "failed", "human_required", "completed");
      if (status.state !== "completed") await scene.must(`recover ${id}`);
      await completes(scene, id);
      expect(goals(scene, "Mend the sum") === 1, "the goal was given more than once");
      return id;
    },
  },
  {
    name: "goes on after the model service was overloaded",
    kind: "recovery",
    requests: 5,
    async run(scene) {
      scene.model.script("main", [apiError(529, { retryAfter: 1 }), bash(MEND), text("Done.")]);
      const id = await scene.start(`Mend the sum --mode auto ${VERIFY}`);
      await completes(scene, id);
      return id;
    },
  },
  {
    name: "pause and resume keep the session",
    kind: "recovery",
    requests: 3,
    async run(scene) {
      scene.model.script("main", [text("First."), bash(MEND), text("Done.")]);
      const id = await scene.start(`Mend the sum --mode manual ${VERIFY}`);
      await scene.waitsFor(id, "result");
      await scene.must(`pause ${id}`);
      await scene.must(`resume ${id}`);
      await scene.waitsFor(id, "result");
      await scene.must(`verify ${id}`);
      await completes(scene, id);
      return id;
    },
  },
  {
    name: "a question nobody answered waits without a worker, and another Pi answers it",
    kind: "recovery",
    requests: 4,
    async run(scene) {
      scene.model.script("main", [bash("node gen.mjs made.txt"), text("Made.")]);
      const id = await scene.start('Make made.txt --mode auto --patience 1s --verify "test -f made.txt"');
      await scene.waitsFor(id, "approval");
      await assertNoneLeft(scene.lab.mark, 60_000, [scene.pi.pid]);
      await scene.pi.quit(60_000);
      await scene.reopen();
      await scene.must(`approve ${await scene.request()}`);
      await completes(scene, id);
      return id;
    },
  },
  {
    name: "takeover and handback, again and again",
    kind: "recovery",
    requests: 70,
    async run(scene, { takeovers }) {
      scene.model.script("main", [bash("ls"), hang()]);
      const id = await scene.start(`Mend the sum --mode auto ${VERIFY}`);
      await scene.model.waitForRequest((one) => one.kind === "main" && one.toolResults().length === 1, STEP_MS);
      const session = new Set<string>();
      for (let round = 1; round <= takeovers; round += 1) {
        const taken = await untilItCan(scene, `takeover ${id}`);
        session.add(/--resume=(\S+)/.exec(String(taken.resumeCommand))?.[1] ?? "none");
        await assertNoneLeft(scene.lab.mark, 30_000, [scene.pi.pid]);
        const seen = scene.model.requests.length;
        expect((await scene.run(`send ${id} hello`)).ok === false, "a message went into a session that was taken over");
        expect(scene.model.requests.length === seen, "the model was asked while a person had the session");
        const last = round === takeovers;
        scene.model.script("main", last ? [bash(MEND), text("Done.")] : [hang()]);
        await scene.must(`handback ${id} round ${round}`);
        if (!last) await scene.model.waitForRequest((one) => one.kind === "main" && one.index >= seen, STEP_MS);
      }
      await completes(scene, id);
      expect(session.size === 1 && !session.has("none"), `sessions: ${[...session].join(", ")}`);
      expect(goals(scene, "Mend the sum") === 1, "the goal was given more than once");
      return id;
    },
  },
];

/** A state that cannot be taken over now can be a moment later. */
async function untilItCan(scene: Scene, words: string): Promise<Record<string, unknown>> {
  const end = performance.now() + STEP_MS;
  for (;;) {
    const answer = await scene.run(words);
    if (answer.ok === true) return answer;
    if (performance.now() > end) throw new Error(`${words}: ${JSON.stringify(answer)}`);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}
