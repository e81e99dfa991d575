import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { chmod, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import {
  countProcesses,
  describeContainment,
  type SpawnContainedInput,
  spawnContained,
} from "../../../src/platform/containment/index.ts";
import { isAlive } from "../../../src/platform/process/index.ts";
import { until, within } from "../../support/until.ts";
import { IS_ROOT, NOBODY, startHost } from "./hosts.ts";
import type { Ground } from "./trees.ts";
import { ground, HAS_CGROUP, MODES, NO_CGROUP, startTree, treeEnv } from "./trees.ts";

for (const { mode, name: how, skip } of MODES) {
  describe(`a program started ${how}`, { skip }, () => {
    test("gets its arguments, folder and environment untouched, and its output arrives whole", async (t) => {
      const place = await ground(t);
      const args = ["", " two  blanks ", "a\nb", "$HOME `x` \"'", "--", "-c", "*", "ü\u2028", "\\n"];
      const env = { PATH: process.env.PATH ?? "", EMPTY: "", ODD: "a=b\nc 'd' \"e\"", UTF: "ü😀" };
      const program =
        "process.stdout.write(JSON.stringify({ args: process.argv.slice(1), cwd: process.cwd(), env: process.env }))";
      const out = await outputOf(place, { file: process.execPath, args: ["-e", program, "--", ...args], env, mode });
      const seen = JSON.parse(out) as { args: string[]; cwd: string; env: Record<string, string> };
      assert.deepEqual(seen.args, args);
      assert.equal(seen.cwd, place.root);
      for (const [name, value] of Object.entries(env)) assert.equal(seen.env[name], value);
      // Bash as /bin/sh adds these; nothing else of ours or the host's may appear.
      const shells = ["PWD", "SHLVL", "_", "OLDPWD"];
      const added = Object.keys(seen.env).filter((name) => !(name in env) && !shells.includes(name));
      assert.deepEqual(added, ["PI_CLAUDE_SUPERVISOR_TREE"]);
    });

    test("gets no descriptor of ours but its three", async (t) => {
      // What our own parent leaked into us without close-on-exec is not ours to close.
      const leaked = openFiles("self");
      const { tree } = await startTree(t, { processes: 1, script: "note; echo ready; exec sleep 1000" }, mode);
      await until(() => readFileSync(`/proc/${tree.pid}/comm`, "utf8").trim() === "sleep", 5000, "sleep runs");
      const open = [...openFiles(String(tree.pid))].filter(([fd, file]) => leaked.get(fd) !== file);
      assert.deepEqual(open.map(([fd]) => fd).sort(), ["0", "1", "2"], String(open));
    });

    test("has done nothing before it is released, but is recorded already", async (t) => {
      const place = await ground(t);
      const spawned = await spawnContained({
        file: "/bin/sh",
        args: ["-c", 'echo $$ >>"$PIDS"; exec sleep 1000'],
        cwd: place.root,
        env: treeEnv(place.root),
        mode,
      });
      assert.ok(spawned.ok);
      const { process: tree } = spawned;
      place.defer(async () => {
        assert.ok((await tree.stop({ kind: "now", graceMs: 0 })).proven);
        await within(tree.settled, 15_000, "the guardian leaves");
      });
      assert.equal(isAlive(tree.record.leader), true);
      assert.equal(tree.record.kind, mode === "off" ? "census" : "cgroup");
      assert.equal(countProcesses(tree.record), 0);
      assert.deepEqual(place.pids(), []);
      assert.deepEqual(await tree.release(), { ok: true });
      await place.complete(1);
      assert.deepEqual(place.pids(), [tree.record.leader.pid], "the leader that was recorded is the program");
    });

    test("is never run when it is stopped before its release", async (t) => {
      const place = await ground(t);
      const spawned = await spawnContained({
        file: "/bin/sh",
        args: ["-c", 'echo $$ >>"$PIDS"'],
        cwd: place.root,
        env: treeEnv(place.root),
        mode,
      });
      assert.ok(spawned.ok);
      assert.ok((await spawned.process.stop({ kind: "graceful", graceMs: 5000 })).proven);
      await within(spawned.process.exited, 15_000, "it ends");
      const late = await spawned.process.release();
      await within(spawned.process.settled, 15_000, "the guardian leaves");
      assert.deepEqual(place.pids(), []);
      assert.ok(!late.ok && late.reason === "worker-gone");
    });

    test("tells its exit code and its signal", async (t) => {
      for (const [script, exit] of [
        ["exit 7", { code: 7, signal: null }],
        ["kill -KILL $$", { code: null, signal: "SIGKILL" }],
      ] as const) {
        const place = await ground(t);
        const spawned = await spawnContained({
          file: "/bin/sh",
          args: ["-c", script],
          cwd: place.root,
          env: treeEnv(place.root),
          mode,
        });
        assert.ok(spawned.ok);
        await spawned.process.release();
        assert.deepEqual(await within(spawned.process.exited, 5000, "its exit"), exit);
        const outcome = await spawned.process.stop({ kind: "now", graceMs: 0 });
        assert.ok(outcome.proven && outcome.killed === 0);
        await within(spawned.process.settled, 15_000, "the guardian leaves");
      }
    });

    test("that can't be executed says so on standard error and exits 126 or 127", async (t) => {
      const place = await ground(t);
      const file = join(place.root, "no-interpreter");
      await writeFile(file, "#!/nowhere/at/all\n");
      await chmod(file, 0o755);
      const spawned = await spawnContained({ file, args: [], cwd: place.root, env: treeEnv(place.root), mode });
      assert.ok(spawned.ok);
      const stderr = text(spawned.process.stderr);
      spawned.process.stdout.resume();
      await spawned.process.release();
      const { code } = await within(spawned.process.exited, 15_000, "it ends");
      assert.ok(code === 126 || code === 127, `exit ${code}`);
      assert.match(await stderr, /no-interpreter/);
      await spawned.process.stop({ kind: "now", graceMs: 0 });
      await within(spawned.process.settled, 15_000, "the guardian leaves");
    });
  });
}

for (const { name, file, reason } of [
  { name: "a relative path", file: "sh", reason: "not-executable" },
  { name: "a missing file", file: "/nowhere/claude", reason: "not-executable" },
  { name: "a file that is not executable", file: "/etc/passwd", reason: "not-executable" },
]) {
  test(`${name} is refused before anything is started`, async () => {
    const spawned = await spawnContained({ file, args: [], cwd: "/", env: {}, mode: "auto" });
    assert.ok(!spawned.ok);
    assert.equal(spawned.reason, reason);
  });
}

test("a start that fails signals nobody, least of all our own process group", async () => {
  const fixture = fileURLToPath(new URL("./fixtures/failing-spawns.ts", import.meta.url));
  // In a group of its own, so that a mistake hits nothing but itself.
  const child = spawn(process.execPath, ["--import", import.meta.resolve("tsx"), fixture], {
    detached: true,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const output = text(child.stdout);
  assert.deepEqual(await within(once(child, "exit"), 60_000, "its end"), [0, null]);
  assert.equal(await output, "alive\n");
});

for (const { name, tmpDir } of [
  { name: "the root", tmpDir: "/" },
  { name: "a top folder", tmpDir: "/tmp" },
  { name: "the working directory", tmpDir: "/usr/share" },
  { name: "a folder around the working directory", tmpDir: "/usr/share/../share" },
  { name: "a folder with a trailing slash, behind which a link would be followed", tmpDir: "/nowhere/at/all/" },
  { name: "a relative folder", tmpDir: "nowhere/at/all" },
]) {
  test(`${name} is refused as a temporary folder that the guardian may remove`, async () => {
    const spawned = await spawnContained({
      file: "/bin/sh",
      args: [],
      cwd: "/usr/share",
      env: {},
      mode: "off",
      tmpDir,
    });
    assert.ok(!spawned.ok);
    assert.equal(spawned.reason, "bad-tmp-dir");
  });
}

test("what a program prints before anyone reads is kept, and nothing of it is read ahead without bound", async (t) => {
  const place = await ground(t);
  const spawned = await spawnContained({
    file: "/bin/sh",
    args: ["-c", 'echo first; echo $$ >>"$PIDS"; n=0; while [ $n -lt 20000 ]; do n=$((n + 1)); echo "line $n"; done'],
    cwd: place.root,
    env: treeEnv(place.root),
    mode: "off",
  });
  assert.ok(spawned.ok);
  const { process: tree } = spawned;
  place.defer(async () => {
    await tree.stop({ kind: "now", graceMs: 0 });
    await within(tree.settled, 15_000, "the guardian leaves");
  });
  await tree.release();
  await place.complete(1);
  // Many turns of the event loop have passed. The pipe is full now, and the program waits for a reader.
  assert.ok(tree.stdout.readableLength <= 128 * 1024, `${tree.stdout.readableLength} bytes`);
  const lines = (await within(text(tree.stdout), 15_000, "the output's end")).trimEnd().split("\n");
  assert.equal(lines.length, 20_001);
  assert.equal(lines[0], "first");
  assert.equal(lines.at(-1), "line 20000");
});

test("a folder that does not exist is refused and leaves nothing behind", async () => {
  const before = supervisorCgroups();
  const spawned = await spawnContained({ file: "/bin/sh", args: [], cwd: "/nowhere", env: {}, mode: "auto" });
  assert.ok(!spawned.ok);
  assert.equal(spawned.reason, "spawn-failed");
  assert.match(spawned.message, /\/nowhere/);
  // Tests of other files run beside this one and make cgroups too; those come and go.
  const made = supervisorCgroups().filter((each) => !before.includes(each));
  await until(() => supervisorCgroups().every((each) => !made.includes(each)), 30_000, "no cgroup is left");
});

test("a required cgroup that can't be made is refused in words that help", {
  skip: !IS_ROOT && "needs root to change the user",
}, async (t) => {
  const host = startHost(t, { trees: [{ script: "note; echo ready" }], mode: "required", user: "other", processes: 0 });
  await assert.rejects(host, /A cgroup is required.*not delegated.*systemd-run --user/s);
});

test("without a usable cgroup `auto` falls back to the census", {
  skip: !IS_ROOT && "needs root to change the user",
}, async (t) => {
  const host = await startHost(t, {
    trees: [{ script: "note; echo ready; exec sleep 1000" }],
    mode: "auto",
    user: "other",
    processes: 1,
  });
  assert.deepEqual(
    host.records().map((record) => record.kind),
    ["census"],
  );
  assert.ok(NOBODY > 0);
});

test("`doctor` is told what holds a worker here", () => {
  assert.equal(describeContainment("auto").kind, HAS_CGROUP ? "cgroup" : "census");
  assert.equal(describeContainment("off").kind, "census");
  assert.match(describeContainment("off").text, /switched off/);
});

test("a supervisor inside a supervised worker is ended with everything that it supervises", async (t) => {
  const place = await ground(t);
  const host = fileURLToPath(new URL("./fixtures/host.ts", import.meta.url));
  const orders = {
    trees: [
      {
        script: `echo $$ >>"$PIDS"; (env -i PIDS="$PIDS" SELF="$SELF" setsid sh -c "$STAY" &) ; echo ready; exec sleep 1000`,
      },
    ],
    mode: "off",
    cwd: place.root,
    env: treeEnv(place.root),
    release: true,
  };
  const spawned = await spawnContained({
    file: process.execPath,
    args: ["--import", import.meta.resolve("tsx"), host, JSON.stringify(orders)],
    cwd: place.root,
    env: { ...treeEnv(place.root), HOME: place.root, TMPDIR: place.root },
    mode: "off",
  });
  assert.ok(spawned.ok);
  const { process: tree } = spawned;
  place.defer(async () => {
    await tree.stop({ kind: "now", graceMs: 0 });
    await within(tree.settled, 15_000, "the guardian leaves");
  });
  let output = "";
  tree.stdout.on("data", (chunk) => {
    output += String(chunk);
  });
  await tree.release();
  await until(() => output.includes("\n"), 30_000, "the inner supervisor is ready");
  await place.complete(2);
  const [inner] = (
    JSON.parse(output) as { records: [{ guardian: { pid: number; startTicks: string; bootId: string } }] }
  ).records;
  const outcome = await tree.stop({ kind: "now", graceMs: 0 });
  assert.ok(outcome.proven);
  assert.deepEqual(place.alive(), []);
  assert.equal(isAlive(inner.guardian), false);
});

async function outputOf(place: Ground, input: Omit<SpawnContainedInput, "cwd">): Promise<string> {
  const spawned = await spawnContained({ ...input, cwd: place.root, stdin: "ignore" });
  assert.ok(spawned.ok, spawned.ok ? "" : spawned.message);
  const { process: tree } = spawned;
  const output = text(tree.stdout);
  tree.stderr.resume();
  await tree.release();
  const whole = await within(output, 15_000, "the output's end");
  assert.equal((await tree.exited).code, 0);
  assert.ok((await tree.stop({ kind: "now", graceMs: 0 })).proven);
  await within(tree.settled, 15_000, "the guardian leaves");
  return whole;
}

function openFiles(pid: string): Map<string, string> {
  const files = new Map<string, string>();
  for (const fd of readdirSync(`/proc/${pid}/fd`)) {
    // Our own listing's descriptor is closed by the time that it is looked up.
    if (existsSync(`/proc/${pid}/fd/${fd}`) || pid !== "self") files.set(fd, readlinkSync(`/proc/${pid}/fd/${fd}`));
  }
  return files;
}

function supervisorCgroups(): string[] {
  if (NO_CGROUP !== false) return [];
  const mounts = readFileSync("/proc/self/mountinfo", "utf8");
  const point = / - cgroup2 /.test(mounts)
    ? (mounts
        .split("\n")
        .find((line) => line.includes(" - cgroup2 "))
        ?.split(" ")[4] ?? "")
    : "";
  const own = readFileSync("/proc/self/cgroup", "utf8").match(/^0::(.*)$/m)?.[1] ?? "/";
  const folder = join(point, own);
  return existsSync(dirname(folder))
    ? readdirSync(folder).filter((name) => name.startsWith("pi-claude-supervisor-"))
    : [];
}
