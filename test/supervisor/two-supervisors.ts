/** Several Pi on one store and one folder at once: shared by the short test and the long proof. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { verifyLog } from "../../src/store/log-reader.ts";
import { FAKE_CLAUDE, FAKE_CLAUDE_VARIABLES, fakeClaude } from "../support/fake-claude/index.ts";
import { assertNoneLeft, MARK_NAME } from "../support/processes.ts";
import { createLab, type Lab } from "../support/workspace.ts";
import { openSupervisor, type Scene } from "./crash/scene.ts";
import type { Act, Done } from "./two-supervisors-child.ts";

const CHILD = fileURLToPath(new URL("two-supervisors-child.ts", import.meta.url));

/** What each act may be told when it is refused. */
const REASONS: Record<Act, ReadonlySet<string>> = {
  start: new Set(["cwd-busy"]),
  stop: new Set(),
  recover: new Set(["live", "cwd-busy", "stopping", "no-session"]),
  send: new Set(["live", "ended", "recoverable", "stopping", "queue-full", "message-doubtful"]),
  quit: new Set(),
};

/** No act may take longer (ms), with a busy machine's slack; `recover` answers within 20 s. */
const LONGEST_MS = 25_000;

export async function interleave(t: TestContext, options: { rounds: number; seed: number }): Promise<void> {
  const lab = await createLab(t);
  const cwd = await lab.repo({ "a.txt": "x\n" });
  const sessions = join(lab.root, "sessions");
  const fake = fakeClaude(lab.tmp, "session", { sessions, alone: true });
  const env = {
    ...lab.env,
    ...fake.env,
    PI_CLAUDE_SUPERVISOR_STATE_DIR: lab.stateDir,
    PI_CLAUDE_SUPERVISOR_CLAUDE: FAKE_CLAUDE,
    PI_CLAUDE_SUPERVISOR_WORKER_ENV: [...FAKE_CLAUDE_VARIABLES, MARK_NAME].join(","),
  };
  const scene: Scene = { env, cwd, transport: "claude-jsonl", wish: "done", diary: join(lab.root, "diary") };
  const sceneFile = join(lab.root, "scene.json");
  writeFileSync(sceneFile, JSON.stringify(scene));
  t.diagnostic(`seed ${options.seed}`);
  const lives = await Promise.all(
    ["one", "two"].map((name, index) => live(lab, sceneFile, name, options.seed + index, options.rounds)),
  );
  const done = lives.flat().sort((a, b) => a.from - b.from);
  assert.equal(done.length, 2 * options.rounds);
  tell(t, done);

  checkAnswers(done);
  await assertNoneLeft(lab.mark, 5_000);
  assert.deepEqual(fake.factsOf("overlap"), [], "never two workers at once in the folder");
  const prompts = fake.factsOf("prompt");
  const said = prompts.map((prompt) => prompt.text).filter((text) => text.includes(" says "));
  assert.deepEqual(said, [...new Set(said)], "every message at most once");
  for (const { act, ok, text } of done)
    if (!ok && text !== null)
      assert.ok(!said.includes(text), `${act} was refused, and "${text}" was said all the same`);

  const supervisor = openSupervisor(scene, () => ({}));
  const rows = (await supervisor.sessions(true)).tasks;
  const started = done.filter((one) => one.act === "start" && one.ok);
  assert.ok(started.length <= rows.length);
  for (const row of rows) {
    assert.equal(row.problem, null);
    const verified = await verifyLog(join(lab.stateDir, "tasks", row.taskId, "events.jsonl"), row.taskId);
    assert.ok(verified.ok, JSON.stringify(verified));
    const replayed = await supervisor.replay(row.taskId);
    assert.ok(replayed.ok && replayed.matches, `${row.taskId}: ${JSON.stringify(replayed)}`);
    if (["stopped", "failed", "completed"].includes(row.state)) continue;
    assert.ok(row.recoverable, `${row.taskId} is ${row.state}: both Pi have ended`);
    const stopped = await supervisor.stop(row.taskId, "the end");
    assert.deepEqual([stopped.ok, stopped.ok && stopped.state], [true, "stopped"], JSON.stringify(stopped));
  }
  await supervisor.shutdown(1_000);
}

function checkAnswers(done: readonly Done[]): void {
  const pids = new Set(done.map((one) => one.pid));
  assert.equal(pids.size, 2);
  for (const one of done) {
    const where = JSON.stringify(one);
    assert.ok(one.to - one.from < LONGEST_MS, where);
    if (one.ok) continue;
    assert.ok(REASONS[one.act].has(one.reason ?? ""), where);
    const named = /process (\d+)/.exec(one.message ?? "")?.[1];
    if (one.reason === "cwd-busy" && named !== undefined) assert.ok(pids.has(Number(named)), where);
    /* A task of one's own is live, too; only the other one is named. */
    if (one.reason === "live" && named !== undefined)
      assert.ok(pids.has(Number(named)) && Number(named) !== one.pid, where);
  }
}

async function live(lab: Lab, sceneFile: string, name: string, seed: number, rounds: number): Promise<Done[]> {
  const args = ["--import", "tsx", CHILD, sceneFile, name, String(seed), String(rounds)];
  /* The process keeps this machine's TMPDIR, where tsx has its cache. */
  const env = { PATH: lab.env["PATH"], HOME: lab.home, TMPDIR: tmpdir(), [MARK_NAME]: lab.mark };
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"], env });
  lab.defer(() => child.exitCode === null && child.signalCode === null && child.kill("SIGKILL"));
  let [output, errors] = ["", ""];
  child.stdout.on("data", (chunk) => {
    output += String(chunk);
  });
  child.stderr.on("data", (chunk) => {
    errors += String(chunk);
  });
  await new Promise((closed) => child.once("close", closed));
  assert.equal(child.exitCode, 0, `${errors}\n${output}`);
  return output
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Done);
}

function tell(t: TestContext, done: readonly Done[]): void {
  const counts = new Map<string, number>();
  for (const { act, ok, reason } of done) {
    const key = `${act} ${ok ? "done" : reason}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  const longest = Math.max(...done.map((one) => one.to - one.from));
  t.diagnostic([...counts].map(([key, count]) => `${count} × ${key}`).join(", "));
  t.diagnostic(`longest act ${longest} ms`);
}
