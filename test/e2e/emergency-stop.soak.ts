/**
 * One table of what may be wrong with a supervisor when `--all stop` is typed in a bare shell: the stop happens all the
 * same, and the exit code tells the truth. The real supervisor in a process of its own, the scripted Claude, the built
 * command. `emergency-stop.test.ts` does the first rows with the real Pi and the real Claude Code too.
 */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, unlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { buildControl } from "../../scripts/build-control.ts";
import { FAKE_CLAUDE, FAKE_CLAUDE_VARIABLES, fakeClaude } from "../support/fake-claude/index.ts";
import { assertNoneLeft, MARK_NAME } from "../support/processes.ts";
import { readEvents } from "../support/task.ts";
import { until } from "../support/until.ts";
import { createLab, type Lab } from "../support/workspace.ts";
import type { Place } from "./stop-table-child.ts";

const CHILD = fileURLToPath(new URL("stop-table-child.ts", import.meta.url));
const WAIT_MS = 60_000;

interface Scene {
  lab: Lab;
  control: string;
  pid: number;
  taskId: string;
  /** The refusal of the start, where there was one. */
  refused?: { reason: string; message: string };
}

interface Row {
  name: string;
  /** Why it can't be played here. */
  skip?: string | false;
  scenario?: string;
  place?: Partial<Place>;
  env?(lab: Lab): Record<string, string>;
  /** What goes wrong once the task is at work. */
  spoil?(scene: Scene): unknown;
  /** What the command's answer must be: exit code, how the latch was written, what the owner did. */
  exitCode: number;
  durable?: string;
  owner?: string;
  /** What must be so after it. */
  afterwards?(scene: Scene): Promise<unknown>;
}

const isRoot = process.getuid?.() === 0 && spawnSync("mount", ["--version"]).status === 0;
const notFull = isRoot
  ? false
  : "only root can mount a small disk; control/faults.test.ts does it with injected errors";

const rows: Row[] = [
  { name: "nothing is wrong", exitCode: 0, durable: "full", owner: "answered" },
  {
    name: "33: the supervisor hangs",
    spoil: ({ pid }) => process.kill(pid, "SIGSTOP"),
    exitCode: 4,
    owner: "silent",
    afterwards: async ({ pid, lab, taskId }) => {
      process.kill(pid, "SIGCONT");
      const types = async () => (await readEvents(lab.stateDir, taskId)).map((event) => event.type);
      await until(async () => (await types()).includes("stop.proven"), WAIT_MS, "it obeys when it wakes up");
      assert.ok((await types()).includes("estop.requested"));
    },
  },
  { name: "55: the supervisor is dead", spoil: ({ pid }) => process.kill(pid, "SIGKILL"), exitCode: 0, owner: "gone" },
  {
    name: "29: its socket is deleted",
    spoil: ({ control }) => {
      for (const name of readdirSync(control)) if (name.endsWith(".sock")) unlinkSync(join(control, name));
    },
    exitCode: 0,
    owner: "answered",
  },
  {
    name: "27: a file lies in its socket's place",
    spoil: ({ control }) => {
      for (const name of readdirSync(control).filter((one) => one.endsWith(".sock"))) {
        unlinkSync(join(control, name));
        writeFileSync(join(control, name), "");
      }
    },
    exitCode: 0,
    owner: "answered",
  },
  {
    name: "25: its socket's path is too long, so that nothing was started",
    env: ({ root }) => ({ PI_CLAUDE_SUPERVISOR_CONTROL_SOCKET_DIR: join(root, "s".repeat(100)) }),
    exitCode: 0,
    durable: "full",
    afterwards: async ({ refused }) => {
      assert.equal(refused?.reason, "socket-path");
      assert.match(refused?.message ?? "", /PI_CLAUDE_SUPERVISOR_CONTROL_SOCKET_DIR/);
    },
  },
  {
    name: "35: the disk is full, and a spare file is there",
    skip: notFull,
    env: smallDisk,
    spoil: ({ control }) => fill(control),
    exitCode: 0,
    durable: "marker",
    owner: "answered",
    afterwards: async ({ control }) => assert.ok(existsSync(join(control, "STOP-ALL"))),
  },
  {
    name: "35: the disk is full to its last name: not durable, which is said",
    skip: notFull,
    env: smallDisk,
    spoil: ({ control }) => {
      unlinkSync(join(control, ".stop-spare"));
      fill(control);
    },
    exitCode: 1,
    durable: "no",
    owner: "answered",
  },
  {
    name: "38: the recorder of evidence hangs",
    place: { logHangs: true },
    exitCode: 0,
    durable: "full",
    owner: "answered",
  },
  { name: "40: the worker does not care about TERM", scenario: "stubborn", exitCode: 0, owner: "answered" },
  {
    name: "11: the latch is no file but a link",
    spoil: ({ control, lab }) => {
      spawnSync("ln", ["-s", join(lab.root, "nowhere"), join(control, "latch.json")]);
    },
    exitCode: 0,
    durable: "full",
    owner: "answered",
  },
];

describe("a stop from a shell, where", () => {
  let command = "";
  let place: Lab;
  before(async () => {
    place = await createLab();
    command = join(place.tmp, "control.mjs");
    await buildControl(command);
  });
  after(() => place.cleanup());

  for (const row of rows) {
    test(row.name, { skip: row.skip ?? false }, async (t) => {
      const lab = await createLab(t);
      const env = row.env?.(lab) ?? {};
      const control = env["PI_CLAUDE_SUPERVISOR_CONTROL_DIR"] ?? join(lab.stateDir, "control");
      const scene = await open(lab, control, row, env);
      await row.spoil?.(scene);
      const began = performance.now();
      const { exitCode, json } = await run(command, lab, env);
      const ms = Math.round(performance.now() - began);
      t.diagnostic(`exit ${exitCode} in ${ms} ms: ${JSON.stringify(json)}`);
      assert.equal(exitCode, row.exitCode);
      assert.equal(json["ok"], exitCode === 0);
      if (row.durable !== undefined) assert.equal(json["durable"], row.durable);
      const records = json["records"] as { identity: string; owner: string; remaining: unknown[] }[];
      assert.deepEqual(
        records.map(({ identity, owner, remaining }) => [identity, owner, remaining]),
        scene.refused ? [] : [[scene.taskId, row.owner, []]],
      );
      await assertNoneLeft(lab.mark, 0);
      await row.afterwards?.(scene);
    });
  }
});

async function open(lab: Lab, control: string, row: Row, env: Readonly<Record<string, string>>): Promise<Scene> {
  const cwd = await lab.repo({ "a.txt": "x\n" });
  const fake = fakeClaude(lab.tmp, row.scenario ?? "holds");
  const place: Place = {
    env: {
      ...lab.env,
      ...fake.env,
      PI_CLAUDE_SUPERVISOR_STATE_DIR: lab.stateDir,
      PI_CLAUDE_SUPERVISOR_CLAUDE: FAKE_CLAUDE,
      PI_CLAUDE_SUPERVISOR_WORKER_ENV: [...FAKE_CLAUDE_VARIABLES, MARK_NAME].join(","),
      ...env,
    },
    cwd,
    ...row.place,
  };
  const child = spawn(process.execPath, ["--import", "tsx", CHILD, JSON.stringify(place)], {
    /* The process keeps this machine's TMPDIR, where tsx has its cache; the lab's mark is its worker's alone. */
    env: { PATH: lab.env["PATH"], HOME: lab.home, TMPDIR: tmpdir() },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const pid = child.pid ?? -1;
  lab.defer(async () => {
    child.kill("SIGCONT");
    child.kill("SIGKILL");
    await until(() => child.exitCode !== null || child.signalCode !== null, WAIT_MS, "the supervisor's end");
    await assertNoneLeft(lab.mark, WAIT_MS);
  });
  const lines: { event: string; taskId?: string; reason?: string; message?: string }[] = [];
  createInterface({ input: child.stdout }).on("line", (line) => lines.push(JSON.parse(line)));
  const first = await until(() => lines[0], WAIT_MS, "the start");
  const { taskId = "", reason = "", message = "" } = first;
  const scene = { lab, control, pid, taskId };
  return first.event === "refused" ? { ...scene, refused: { reason, message } } : scene;
}

/** As a person's shell runs it, with nothing of ours but where the stop lives. */
function run(command: string, lab: Lab, env: Readonly<Record<string, string>>) {
  const child = spawn(process.execPath, [command, "--all", "stop", "--now", "--reason", "x", "--json"], {
    env: { PATH: lab.env["PATH"], HOME: lab.home, PI_CLAUDE_SUPERVISOR_STATE_DIR: lab.stateDir, ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let out = "";
  child.stdout.on("data", (chunk: Buffer) => {
    out += chunk;
  });
  return new Promise<{ exitCode: number | null; json: Record<string, unknown> }>((resolve) => {
    child.once("close", (exitCode) => resolve({ exitCode, json: JSON.parse(out) as Record<string, unknown> }));
  });
}

/** The stop's own folder on a disk of 64 KiB. */
function smallDisk(lab: Lab): Record<string, string> {
  const disk = join(lab.root, "disk");
  mkdirSync(disk, { mode: 0o700 });
  const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", "size=64k,nr_inodes=14,mode=700", "none", disk]);
  assert.equal(mounted.status, 0, String(mounted.stderr));
  lab.defer(() => spawnSync("umount", ["-l", disk]));
  return { PI_CLAUDE_SUPERVISOR_CONTROL_DIR: join(disk, "control") };
}

/** Until neither a byte nor a name is left. */
function fill(disk: string): void {
  for (let count = 0; count < 60; count += 1) {
    try {
      writeFileSync(join(disk, `filler-${count}`), Buffer.alloc(16 * 1024));
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "ENOSPC")) throw error;
    }
  }
}
