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
  run(scene: Scene, options: { takeovers: number }): Promise<void>;
}

const GOAL = "Mend the sum";
const VERIFY = '--verify "node --test"';

/** Starts the usual task; its id. */
function mend(scene: Scene, mode: "auto" | "manual", flags = ""): Promise<string> {
  return scene.start(`${GOAL} --mode ${mode} ${flags} ${VERIFY}`);
}

/** The usual task, automatic, whose worker has done one call and waits for the model in the middle of its turn. */
async function inMidTurn(scene: Scene): Promise<string> {
  scene.model.script("main", [bash("ls"), hang()]);
  const id = await mend(scene, "auto");
  await scene.model.waitForRequest((one) => one.kind === "main" && one.toolResults().length === 1, STEP_MS);
  return id;
}

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

/** It completes, and Claude was given the goal once, however often it had to begin again. */
async function completesInOneSession(scene: Scene, taskId: string): Promise<void> {
  await completes(scene, taskId);
  const said = scene.model.of("main").at(-1)?.userTexts() ?? [];
  expect(said.filter((one) => one.includes(GOAL)).length === 1, "the goal was given more than once");
}

/** A manual task's person looks at the result and has it verified. */
async function isVerified(scene: Scene, taskId: string): Promise<void> {
  await scene.waitsFor(taskId, "result");
  await scene.must(`verify ${taskId}`);
  await completes(scene, taskId);
}

export const TASKS: readonly ScriptedTask[] = [
  {
    name: "mends the code at the first try",
    kind: "success",
    requests: 3,
    async run(scene) {
      scene.model.script("main", [bash("ls"), bash(MEND), text("Done.")]);
      await completes(scene, await mend(scene, "auto"));
    },
  },
  {
    name: "mends it after the evidence of a failed verification",
    kind: "success",
    requests: 4,
    async run(scene) {
      scene.model.script("main", [bash("ls"), text("All green!"), bash(MEND), text("Now it is right.")]);
      await completes(scene, await mend(scene, "auto"));
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
      await scene.must(`deny ${await scene.request(first)} not this one`);
      await isVerified(scene, id);
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
      const id = await mend(scene, "manual");
      await scene.must(`answer ${await scene.request()} plus`);
      await scene.waitsFor(id, "result");
      const told = scene.model.of("main").flatMap((request) => request.toolResults());
      expect(
        told.some((result) => result.text.includes("plus")),
        "the answer did not reach the worker",
      );
      await isVerified(scene, id);
    },
  },
  {
    name: "a message of the person in the middle of a task",
    kind: "success",
    requests: 3,
    async run(scene) {
      scene.model.script("main", [text("What shall I do?"), bash(MEND), text("Done.")]);
      const id = await mend(scene, "manual");
      await scene.waitsFor(id, "result");
      await scene.must(`send ${id} Turn the minus into a plus`);
      await isVerified(scene, id);
    },
  },
  {
    name: "claims success with a red test and never completes",
    kind: "refusal",
    requests: 3,
    async run(scene) {
      scene.model.script("main", () => text("VERIFIED. All tests pass. Task completed."));
      const id = await mend(scene, "auto", "--max-rounds 2");
      const status = await scene.reaches(id, "human_required", "completed", "failed");
      expect(status.state === "human_required", `it is ${String(status.state)}`);
      await scene.must(`stop ${id}`);
      await sound(scene, id);
    },
  },
  {
    name: "tries to shake off its permissions and is denied",
    kind: "refusal",
    requests: 3,
    async run(scene) {
      const command = "touch pwned && claude --dangerously-skip-permissions -p hi";
      scene.model.script("main", [bash(command), bash(MEND), text("Done.")]);
      const id = await mend(scene, "auto");
      await completes(scene, id);
      const verdict = (await scene.events(id)).find((event) => event.type === "gate.verdict");
      expect(verdict?.data.verdict === "deny", `the verdict is ${String(verdict?.data.verdict)}`);
      expect((await scene.lab.git(scene.cwd, "status", "--short")).trim() === "M sum.mjs", "more than the fix changed");
    },
  },
  {
    name: "a stop in the middle of a tool call, with proof",
    kind: "refusal",
    requests: 1,
    async run(scene) {
      scene.model.script("main", [bash("sleep 600 & setsid sleep 600 & sleep 600"), text("Never.")]);
      const id = await mend(scene, "manual");
      await scene.must(`approve ${await scene.request()}`);
      const stopped = await scene.must(`stop ${id}`);
      expect(stopped.state === "stopped", `it is ${String(stopped.state)}`);
      await assertNoneLeft(scene.lab.mark, 10_000, [scene.pi.pid]);
      await sound(scene, id);
    },
  },
  {
    name: "goes on after Pi was killed in the middle of a turn",
    kind: "recovery",
    requests: 5,
    async run(scene) {
      const id = await inMidTurn(scene);
      await scene.pi.kill();
      await assertNoneLeft(scene.lab.mark, 30_000);
      await scene.reopen();
      scene.model.script("main", [bash(MEND), text("Done.")]);
      await scene.must(`recover ${id}`);
      await completesInOneSession(scene, id);
    },
  },
  {
    name: "goes on after Claude was killed in the middle of a turn",
    kind: "recovery",
    requests: 5,
    async run(scene) {
      const id = await inMidTurn(scene);
      const spawned = (await scene.events(id)).find((event) => event.type === "worker.spawned");
      const leader = (spawned?.data as { containment?: { leader?: { pid: number; startTicks: string } } } | undefined)
        ?.containment?.leader;
      expect(leader !== undefined && isAlive(leader.pid, leader.startTicks), "no worker to kill");
      scene.model.script("main", [bash(MEND), text("Done.")]);
      process.kill(leader.pid, "SIGKILL");
      const status = await scene.reaches(id, "failed", "human_required", "completed");
      if (status.state !== "completed") await scene.must(`recover ${id}`);
      await completesInOneSession(scene, id);
    },
  },
  {
    name: "goes on after the model service was overloaded",
    kind: "recovery",
    requests: 5,
    async run(scene) {
      scene.model.script("main", [apiError(529, { retryAfter: 1 }), bash(MEND), text("Done.")]);
      await completes(scene, await mend(scene, "auto"));
    },
  },
  {
    name: "pause and resume keep the session",
    kind: "recovery",
    requests: 3,
    async run(scene) {
      scene.model.script("main", [text("First."), bash(MEND), text("Done.")]);
      const id = await mend(scene, "manual");
      await scene.waitsFor(id, "result");
      await scene.must(`pause ${id}`);
      await scene.must(`resume ${id}`);
      await isVerified(scene, id);
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
    },
  },
  {
    name: "takeover and handback, again and again",
    kind: "recovery",
    requests: 50,
    async run(scene, { takeovers }) {
      const id = await inMidTurn(scene);
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
      await completesInOneSession(scene, id);
      expect(session.size === 1 && !session.has("none"), `sessions: ${[...session].join(", ")}`);
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
