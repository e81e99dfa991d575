import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { describe, type TestContext, test } from "node:test";
import type { ProcessIdentity } from "../../../src/core/contracts/worker.ts";
import {
  bootId,
  identify,
  isAlive,
  maySignal,
  signal,
  signalGroup,
  stateOf,
} from "../../../src/platform/process/index.ts";
import { processInfo } from "../../support/processes.ts";
import { until } from "../../support/until.ts";

describe("the identity of a process", () => {
  test("is pid, start and boot, and stays the same while it lives", (t) => {
    const child = sleeper(t);
    const identity = identityOf(child);
    assert.equal(identity.pid, child.pid);
    assert.equal(identity.startTicks, processInfo(identity.pid)?.startTicks);
    assert.equal(identity.bootId, bootId());
    assert.notEqual(identity.bootId, "");
    assert.deepEqual(identify(identity.pid), identity);
    assert.equal(isAlive(identity), true);
  });

  test("is gone once the process has ended", async (t) => {
    const child = sleeper(t);
    const identity = identityOf(child);
    child.kill("SIGKILL");
    await once(child, "exit");
    assert.equal(isAlive(identity), false);
    assert.equal(identify(identity.pid), undefined);
  });

  test("is gone as a zombie that nobody reaps", async (t) => {
    // The shell starts a child that waits for a line, then becomes a program that never waits for its children.
    const parent = spawn("/bin/sh", ["-c", "exec 3<&0; sh -c 'read line <&3' & echo $!; exec sleep 1000"], {
      stdio: ["pipe", "pipe", "ignore"],
    });
    t.after(() => end(parent));
    const [line] = await once(parent.stdout, "data");
    const pid = Number(String(line).trim());
    await until(() => processInfo(parent.pid ?? 0)?.command.startsWith("sleep"), 5000, "the shell became sleep");
    parent.stdin.end("\n");
    await until(() => processInfo(pid)?.state === "Z", 5000, "the child is a zombie");
    assert.doesNotThrow(() => process.kill(pid, 0), "for kill(2) it still exists");
    const startTicks = processInfo(pid)?.startTicks ?? "";
    assert.equal(identify(pid), undefined);
    assert.equal(isAlive({ pid, startTicks, bootId: bootId() }), false);
  });

  test("is not the process that has its number now", (t) => {
    const identity = identityOf(sleeper(t));
    assert.equal(isAlive({ ...identity, startTicks: String(Number(identity.startTicks) - 1) }), false);
    assert.equal(isAlive({ ...identity, bootId: "another boot" }), false);
  });

  test("tells a stopped process from a running one", async (t) => {
    const child = sleeper(t);
    const identity = identityOf(child);
    child.kill("SIGSTOP");
    await until(() => stateOf(identity) === "T", 5000, "it is stopped");
    assert.equal(isAlive(identity), true);
  });

  for (const pid of [0, 1, -1, -5, 1.5, Number.NaN, 2 ** 31, 2 ** 60]) {
    test(`of the number ${pid} is never given`, () => {
      assert.equal(identify(pid), undefined);
      assert.equal(isAlive({ pid, startTicks: "1", bootId: bootId() }), false);
    });
  }
});

describe("a signal", () => {
  test("reaches exactly the process that is meant", async (t) => {
    const child = sleeper(t);
    const exit = once(child, "exit");
    assert.equal(signal(identityOf(child), "SIGTERM"), "sent");
    assert.deepEqual(await exit, [null, "SIGTERM"]);
  });

  const strangers: { name: string; change: (identity: ProcessIdentity) => ProcessIdentity }[] = [
    { name: "started at another time", change: (each) => ({ ...each, startTicks: `${Number(each.startTicks) + 1}` }) },
    { name: "belongs to another boot", change: (each) => ({ ...each, bootId: "0000" }) },
  ];
  for (const { name, change } of strangers) {
    test(`does not reach a process with the same number that ${name}`, async (t) => {
      const child = sleeper(t);
      const identity = identityOf(child);
      assert.equal(signal(change(identity), "SIGKILL"), "gone");
      assert.equal(signalGroup(change(identity), "SIGKILL"), "gone");
      assert.equal(isAlive(identity), true);
    });
  }

  const own = processInfo(process.pid);
  const never: { name: string; pid: number }[] = [
    { name: "0, our own group", pid: 0 },
    { name: "1, init", pid: 1 },
    { name: "-1, everybody", pid: -1 },
    { name: "a negative number, a group", pid: -process.pid },
    { name: "our own pid", pid: process.pid },
    { name: "our parent's pid", pid: process.ppid },
  ];
  for (const { name, pid } of never) {
    test(`is refused for ${name}`, () => {
      const identity = { pid, startTicks: own?.startTicks ?? "", bootId: bootId() };
      assert.equal(signal(identity, "SIGCONT"), "refused");
      assert.equal(signalGroup(identity, "SIGCONT"), "refused");
      assert.equal(maySignal(pid), false);
    });
  }

  test("to a group is refused for a process of our own session", (t) => {
    const identity = identityOf(sleeper(t));
    assert.equal(signalGroup(identity, "SIGKILL"), "refused");
    assert.equal(isAlive(identity), true);
  });

  test("to a group reaches all of it and nothing else", async (t) => {
    const other = identityOf(sleeper(t));
    const parent = spawn("/bin/sh", ["-c", "sleep 1000 & echo $!; wait"], {
      detached: true,
      stdio: ["ignore", "pipe", "ignore"],
    });
    t.after(() => end(parent));
    const [line] = await once(parent.stdout, "data");
    const member = identify(Number(String(line).trim()));
    assert.ok(member);
    assert.equal(signalGroup(member, "SIGKILL"), "sent");
    await once(parent, "exit");
    await until(() => !isAlive(member), 5000, "the member is gone");
    assert.equal(isAlive(other), true);
  });
});

function sleeper(t: TestContext): ChildProcess {
  const child = spawn("sleep", ["1000"], { stdio: "ignore" });
  t.after(() => end(child));
  return child;
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, "exit");
  child.kill("SIGKILL");
  await exit;
}

function identityOf(child: ChildProcess): ProcessIdentity {
  const identity = identify(child.pid ?? 0);
  assert.ok(identity);
  return identity;
}
