/**
 * No secret leaves a trace: not in a file of the supervisor, not in anything that Pi shows, not in an error. And none of
 * it changes what runs: the worker and its commands get the real words. Real Pi (both lines), real Claude Code.
 */
import assert from "node:assert/strict";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { filesHolding } from "../support/files-holding.ts";
import { bash, text, toolUse } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { type Pi, startPi } from "../support/pi.ts";
import { MARK_NAME } from "../support/processes.ts";
import { logProblems, waitForState } from "../support/task.ts";
import { until } from "../support/until.ts";
import { createLab } from "../support/workspace.ts";
import { type Asked, onBothLines, openScene, type Scene, test } from "./scene.ts";
import { assertNoTrace, pemKey, pieces, token } from "./secret-values.ts";

/** Prints its argument and leaves it in a file: proof of what really ran. */
const PRINT = `import { writeFileSync } from "node:fs";
writeFileSync("ran.txt", process.argv[2]);
console.log("printed " + process.argv[2]);
`;

/** Prints what the vault holds, a few characters at a time, on both streams. */
const PIECES = `import { readFileSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
for (const stream of [process.stdout, process.stderr]) {
  const secrets = readFileSync("vault.txt", "utf8").split("\\0");
  for (const secret of secrets) {
    stream.write("next: ");
    for (let at = 0; at < secret.length; at += 400) {
      stream.write(secret.slice(at, at + 7));
      await setTimeout(2);
      stream.write(secret.slice(at + 7, at + 400));
      await setTimeout(2);
    }
    stream.write("\\n");
  }
}
`;

/** The worker's own key, which only its value makes known. */
const ENV = 'console.log("key=" + process.env.ANTHROPIC_API_KEY, Buffer.from("x").length);\n';

const SCRIPTS = { "print.mjs": PRINT, "pieces.mjs": PIECES, "env.mjs": ENV, ".gitignore": "ran.txt\n" };

/** Answers every request by `decide` until the turn is over. */
async function untilResult(
  scene: Scene,
  taskId: string,
  turns: number,
  decide: (asked: Asked) => string,
): Promise<void> {
  const seen = new Set<string>();
  await until(
    async () => {
      const status = await scene.run(`status ${taskId}`);
      if (["failed", "stopped"].includes(String(status["state"]))) throw new Error(JSON.stringify(status));
      if (status["waitsFor"] === "result" && Number(status["turns"]) >= turns) return true;
      for (const asked of await scene.approvals()) {
        if (seen.has(asked.requestId)) continue;
        seen.add(asked.requestId);
        const answer = await scene.run(decide(asked));
        assert.equal(answer["ok"], true, JSON.stringify(answer));
      }
      return undefined;
    },
    60_000,
    `result ${turns} of ${taskId}`,
    50,
  );
}

/** All that Pi showed: notices, dialogs, widgets, status texts, and its standard error. */
const shownBy = (pi: Pi): string[] => [
  ...pi.ui.map((request) => JSON.stringify(request)),
  ...pi.unclaimed.map((answer) => JSON.stringify(answer)),
  pi.stderr(),
];

await onBothLines("a secret", (line) => {
  test("G1: of a goal, calls, their output, questions, answers, notes, messages and the worker's own key leaves no trace", async (t) => {
    const [goal, argument, approved, refused, asked, answer, said, message, reason, denied] = [
      token("github"),
      token("slack"),
      token("aws"),
      token("anthropic"),
      token("github"),
      token("slack"),
      token("anthropic"),
      token("github"),
      token("slack"),
      token("anthropic"),
    ];
    const key = pemKey();
    const vault = [token("github"), token("aws"), token("slack"), token("anthropic"), key];
    const scene = await openScene(t, line, {
      files: { ...SCRIPTS, "key.pem": key, "vault.txt": vault.join("\0") },
    });
    const { lab, modelServer, start, run, pi, cwd } = scene;
    const secrets = [
      goal,
      argument,
      approved,
      refused,
      asked,
      answer,
      said,
      message,
      reason,
      denied,
      ...vault,
      lab.apiKey,
    ];
    const question = {
      questions: [
        {
          question: `Which one instead of ${asked}?`,
          header: "Key",
          multiSelect: false,
          options: [
            { label: "None", description: `not ${asked}` },
            { label: "Another", description: "one of yours" },
          ],
        },
      ],
    };
    modelServer.script("main", [
      bash(`node print.mjs ${argument}`, { say: `I use ${said} now.` }),
      bash("node pieces.mjs"),
      bash("node env.mjs"),
      bash(`node print.mjs ${denied}`),
      bash("head -n 9 key.pem"),
      bash("tail -n +10 key.pem"),
      toolUse("AskUserQuestion", question),
      text(...pieces(`Done with ${said}.`, 9)),
      text(`I have ${message}.`),
    ]);
    const taskId = await start(`Use ${goal} for it --mode manual --verify "node pieces.mjs"`);
    await untilResult(scene, taskId, 1, ({ requestId, kind, input }) => {
      if (kind === "question") return `answer ${requestId} take ${answer}`;
      /* The request as it is shown knows the command only without its secret. */
      const command = String(input["command"]);
      if (command.includes("print.mjs") && command.includes("anthropic"))
        return `deny ${requestId} not with ${refused}`;
      return `approve ${requestId} --note "with ${approved}"`;
    });
    assert.equal((await run(`send ${taskId} also ${message}`))["ok"], true);
    await untilResult(scene, taskId, 2, ({ requestId }) => `deny ${requestId}`);

    /* The real words ran and were said. */
    assert.equal(await readFile(join(cwd, "ran.txt"), "utf8"), argument);
    const last = modelServer.of("main").at(-1);
    const conversation = JSON.stringify(last?.body.messages);
    for (const real of [goal, argument, answer, message, ...vault.slice(0, 4), lab.apiKey])
      assert.ok(conversation.includes(real), "the conversation has the real words");
    const results = last?.toolResults() ?? [];
    assert.match(results[0]?.text ?? "", new RegExp(`printed ${argument}`));
    assert.ok(!conversation.includes(`printed ${denied}`));

    const verified = await run(`verify ${taskId}`);
    assert.deepEqual([verified["ok"], verified["outcome"]], [true, "pass"], JSON.stringify(verified));
    for (const words of [
      `status ${taskId}`,
      "sessions --all",
      `replay ${taskId}`,
      `log ${taskId}`,
      `report ${taskId}`,
    ]) {
      assert.equal((await run(words))["ok"], true, words);
      await pi.runForPeople(`/supervise ${words}`);
    }
    assert.deepEqual(await logProblems(lab.stateDir, taskId), []);
    const stopped = await run(`stop ${taskId} because of ${reason}`);
    assert.equal(stopped["ok"], true);
    await pi.quit();
    await assertNoTrace(secrets, lab.stateDir, shownBy(pi));
    await assertNoTrace(secrets, join(lab.home, ".pi"), []);
    assert.deepEqual(await readdir(join(lab.stateDir, "scratch", "clean")), [], "no copy of the workspace stays");
    assert.deepEqual(await filesHolding(lab.stateDir, argument), [], "nor an object of a file that nobody committed");
  });

  test("that is typed into a wrong command comes back in no error", async (t) => {
    const scene = await openScene(t, line, {});
    const { lab, run, pi } = scene;
    const secret = token("github");
    for (const words of [
      `start x --cwd /nowhere/${secret} --verify true`,
      `start x --verify "curl -H 'Authorization: Bearer ${secret}' localhost"`,
      `start x --verify true --${secret}`,
      `start x --verify true --mode ${secret}`,
      `status ${secret}`,
      `send ${secret} hello`,
      `approve ${secret}`,
      `recover ${secret}`,
      `stop ${secret}`,
    ]) {
      const answer = await run(words);
      assert.equal(answer["ok"], false, JSON.stringify(answer));
      await pi.runForPeople(`/supervise ${words}`);
    }
    await pi.runForPeople(`/supervise ${secret}`);
    await assertNoTrace([secret], lab.stateDir, shownBy(pi));
  });

  test("of a Claude that can't start is in no error", async (t) => {
    const secret = token("anthropic");
    const lab = await createLab(t);
    const modelServer = await startModelServer();
    lab.defer(() => modelServer.close());
    const cwd = await lab.repo({});
    const claude = join(lab.tmp, "broken-claude");
    const script = [
      "#!/bin/sh",
      'if [ "$1" = --version ]; then echo "2.1.268 (Claude Code)"; exit; fi',
      'printf "key %.20s" "$MY_SERVICE_KEY" >&2',
      "sleep 0.2",
      'printf "%s is wrong" "$MY_SERVICE_KEY" | tail -c +21 >&2',
      "exit 7",
      "",
    ];
    await writeFile(claude, script.join("\n"), { mode: 0o755 });
    const env = {
      PI_CLAUDE_SUPERVISOR_CLAUDE: claude,
      PI_CLAUDE_SUPERVISOR_WORKER_ENV: `${MARK_NAME},MY_SERVICE_KEY`,
      MY_SERVICE_KEY: secret,
    };
    const pi = await startPi({ lab, modelServer, line, cwd, env });
    const started = await pi.run('/supervise start Do it --verify "true" --json');
    assert.equal(started["ok"], true, JSON.stringify(started));
    const status = await waitForState(pi, String(started["taskId"]), ["failed"], 30_000);
    assert.match(String(status["why"]), /key \[redacted:[^\]]*\] is wrong/);
    await pi.quit();
    await assertNoTrace([secret], lab.stateDir, shownBy(pi));
  });
});
