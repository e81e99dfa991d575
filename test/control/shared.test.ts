/** The stop that reaches several accounts. Another account is handed to the judgement; second-account.test.ts has a real one. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { StopChecker, type StopHeld } from "../../src/control/check.ts";
import { openControl } from "../../src/control/controller.ts";
import { readRecordFile } from "../../src/control/files.ts";
import { type ActContext, liftSharedStop, setSharedFolder, setSharedStop } from "../../src/control/shared-acts.ts";
import { judgeSharedFolder } from "../../src/control/shared-folder.ts";
import { homeStopOf, liftLogOf, settingPathOf, stopFileOf, stopFolderOf } from "../../src/control/shared-names.ts";
import { readPages, writePage } from "../../src/control/shared-page.ts";
import { SharedStop } from "../../src/control/shared-stop.ts";
import { type Account, type Ownership, systemOwnership } from "../../src/platform/account.ts";
import { until } from "../support/until.ts";
import { type Lab, lab } from "./support.ts";

const ME = systemOwnership.uid;
const redact = (text: string): string => text;

interface SharedLab extends Lab {
  shared: string;
  platformFolder: string;
  account: Account;
  context: ActContext;
  stop(ownership?: Ownership): SharedStop;
}

/** A sticky folder, and a home of an account that has chosen it. */
async function sharedLab(t: TestContext): Promise<SharedLab> {
  const where = lab(t);
  const shared = join(where.root, "shared");
  mkdirSync(shared);
  chmodSync(shared, 0o1777);
  const platformFolder = join(where.root, "platform");
  mkdirSync(platformFolder);
  chmodSync(platformFolder, 0o1777);
  const account = { uid: ME, gid: ME, name: "me", home: join(where.root, "home") };
  mkdirSync(account.home, { mode: 0o700 });
  const context: ActContext = { account, ownership: systemOwnership, now: () => new Date("2026-05-06T07:08:09Z") };
  const chosen = await setSharedFolder({ folder: shared, person: { uid: ME, name: "me" } }, context);
  assert.ok(chosen.ok && chosen.madeStopFolder, JSON.stringify(chosen));
  const stop = (ownership = systemOwnership) =>
    new SharedStop({ account: () => ({ ok: true, account }), ownership, platformFolder });
  return { ...where, shared, platformFolder, account, context, stop };
}

function both(..._done: unknown[]): void {
  // Arguments are evaluated in order; there is nothing left to do.
}

function reasonOf(result: { ok: true } | { ok: false; reason: string }): string {
  return result.ok ? "ok" : result.reason;
}

function verdict(held: StopHeld | undefined): string {
  return held === undefined ? "clear" : held.reason;
}

describe("the shared folder", () => {
  test("4: that others can write without the sticky bit is refused, and holds a run", async (t) => {
    const where = await sharedLab(t);
    const stop = where.stop();
    const { pin } = pinned(stop);
    assert.equal(verdict(stop.check(pin)), "clear");
    chmodSync(where.shared, 0o777);
    assert.equal(reasonOf(judgeSharedFolder(where.shared, ME, systemOwnership)), "wrong-mode");
    assert.equal(verdict(stop.check(pin)), "unclear");
    assert.equal(reasonOf(stop.begin()), "wrong-mode");
  });

  const faults: { name: string; folder: (where: SharedLab) => string; reason: string; ownership?: Ownership }[] = [
    {
      name: "a link",
      folder: ({ root, shared }) => {
        symlinkSync(shared, join(root, "link"));
        return join(root, "link");
      },
      reason: "symlink",
    },
    {
      name: "a file",
      folder: ({ root }) => {
        writeFileSync(join(root, "file"), "");
        return join(root, "file");
      },
      reason: "not-a-directory",
    },
    { name: "nothing", folder: ({ root }) => join(root, "none"), reason: "missing" },
    { name: "a relative path", folder: () => "shared", reason: "bad-path" },
    {
      name: "a stranger's",
      folder: ({ shared }) => shared,
      reason: "wrong-owner",
      ownership: { ...systemOwnership, ownerOf: (path, stats) => (path.endsWith("/shared") ? 4711 : stats.uid) },
    },
    {
      name: "below a stranger's",
      folder: ({ shared }) => shared,
      reason: "wrong-owner",
      ownership: { ...systemOwnership, ownerOf: (path, stats) => (/pcs-c-\w+$/.test(path) ? 4711 : stats.uid) },
    },
  ];
  for (const { name, folder, reason, ownership } of faults) {
    test(`may not be ${name}`, async (t) => {
      const where = await sharedLab(t);
      assert.equal(reasonOf(judgeSharedFolder(folder(where), ME, ownership ?? systemOwnership)), reason);
    });
  }

  test("can't be changed while a stop stands in it", async (t) => {
    const where = await sharedLab(t);
    const set = await setSharedStop(where.context);
    assert.ok(set.ok && set.reach === "every opted-in account");
    const other = await setSharedFolder(
      { folder: where.platformFolder, person: { uid: ME, name: "me" } },
      where.context,
    );
    assert.equal(reasonOf(other), "stop-in-force");
  });

  test("whose place was taken by another is refused and named", async (t) => {
    const where = await sharedLab(t);
    const ownership: Ownership = {
      ...systemOwnership,
      ownerOf: (path, stats) => (path === stopFolderOf(where.shared, ME) ? 4711 : stats.uid),
    };
    assert.equal(reasonOf(where.stop(ownership).begin()), "squatted");
    assert.equal(reasonOf(await setSharedStop({ ...where.context, ownership })), "squatted");
  });
});

function pinned(stop: SharedStop) {
  const begun = stop.begin();
  assert.ok(begun.ok, JSON.stringify(begun));
  return begun;
}

describe("a shared stop file", () => {
  const cases: {
    name: string;
    make: (path: string, where: SharedLab) => void;
    expected: string;
    ownership?: Ownership;
  }[] = [
    { name: "8: empty", make: (path) => writeFileSync(path, ""), expected: "stop" },
    { name: "8: of junk", make: (path) => writeFileSync(path, Buffer.from([0, 1, 255])), expected: "stop" },
    { name: "7: of 4096 bytes", make: (path) => writeFileSync(path, "x".repeat(4096)), expected: "stop" },
    { name: "7: of 4097 bytes", make: (path) => writeFileSync(path, "x".repeat(4097)), expected: "unclear" },
    {
      name: "7: huge and sparse",
      make: (path) => both(writeFileSync(path, ""), truncateSync(path, 2 ** 34)),
      expected: "unclear",
    },
    { name: "5: that is a folder", make: (path) => mkdirSync(path), expected: "unclear" },
    { name: "5: that is a link", make: (path, { root }) => symlinkSync(join(root, "x"), path), expected: "unclear" },
    { name: "6: that is a FIFO", make: (path) => both(spawnSync("mkfifo", [path])), expected: "unclear" },
    {
      name: "that others can write",
      make: (path) => both(writeFileSync(path, ""), chmodSync(path, 0o666)),
      expected: "unclear",
    },
    {
      name: "with two names",
      make: (path, { root }) => both(writeFileSync(join(root, "x"), ""), linkSync(join(root, "x"), path)),
      expected: "unclear",
    },
    {
      name: "of a stranger",
      make: (path) => writeFileSync(path, ""),
      expected: "unclear",
      ownership: { ...systemOwnership, ownerOf: (path, stats) => (path.endsWith("/stop") ? 4711 : stats.uid) },
    },
  ];
  for (const { name, make, expected, ownership } of cases) {
    test(`${name} is ${expected === "stop" ? "honoured" : "held as unclear"}`, async (t) => {
      const where = await sharedLab(t);
      const path = stopFileOf(where.shared, ME);
      make(path, where);
      const began = performance.now();
      const held = where.stop(ownership).check();
      assert.equal(verdict(held), expected, held?.message);
      assert.ok(performance.now() - began < 1000, "nothing blocks");
      assert.ok(held?.message.includes(path), "it is named");
      const outcome = await setSharedStop({ ...where.context, ...(ownership ? { ownership } : {}) });
      if (expected === "unclear") assert.equal(outcome.ok, false, "what stands there is no stop that was set");
    });
  }

  test("7: that grows while it stands holds", async (t) => {
    const where = await sharedLab(t);
    const path = stopFileOf(where.shared, ME);
    writeFileSync(path, "");
    const stop = where.stop();
    assert.equal(verdict(stop.check()), "stop");
    appendFileSync(path, "x".repeat(5000));
    assert.equal(verdict(stop.check()), "unclear");
  });

  test("is looked for in three places, and in the home", async (t) => {
    const where = await sharedLab(t);
    const stop = where.stop();
    const { pin } = pinned(stop);
    mkdirSync(stopFolderOf(where.platformFolder, ME));
    for (const path of [
      stopFileOf(where.shared, ME),
      stopFileOf(where.platformFolder, ME),
      homeStopOf(where.account.home),
    ]) {
      assert.equal(verdict(stop.check(pin)), "clear");
      writeFileSync(path, "", { mode: 0o600 });
      assert.equal(verdict(stop.check(pin)), "stop", path);
      unlinkSync(path);
    }
    // Another account's stop in the platform's folder is not ours to honour.
    mkdirSync(stopFolderOf(where.platformFolder, 4711));
    writeFileSync(stopFileOf(where.platformFolder, 4711), "");
    assert.equal(verdict(stop.check(pin)), "clear");
  });
});

describe("12: what a run began under", () => {
  const changes: { name: string; change: (where: SharedLab) => void }[] = [
    { name: "the setting removed", change: ({ account }) => unlinkSync(settingPathOf(account.home)) },
    { name: "the setting damaged", change: ({ account }) => writeFileSync(settingPathOf(account.home), "{") },
    {
      name: "the setting edited",
      change: ({ account, platformFolder }) => {
        const path = settingPathOf(account.home);
        writeFileSync(path, readFileSync(path, "utf8").replace(/"folder": ".*"/, `"folder": "${platformFolder}"`));
      },
    },
    { name: "the folder gone", change: ({ shared }) => renameSync(shared, `${shared}-away`) },
    {
      name: "the folder replaced",
      change: ({ shared }) => {
        renameSync(shared, `${shared}-away`);
        mkdirSync(shared);
        chmodSync(shared, 0o1777);
      },
    },
  ];
  for (const { name, change } of changes) {
    test(`holds with ${name}`, async (t) => {
      const where = await sharedLab(t);
      const stop = where.stop();
      const { pin } = pinned(stop);
      assert.equal(verdict(stop.check(pin)), "clear");
      change(where);
      assert.equal(verdict(stop.check(pin)), "unclear");
    });
  }

  test("13: holds where no home can be found", (t) => {
    lab(t);
    const stop = new SharedStop({ account: () => ({ ok: false, reason: "no-account", message: "There is none." }) });
    assert.equal(verdict(stop.check()), "unclear");
  });

  test("a look-up of the account that fails now and then is tried again", (t) => {
    const where = lab(t);
    let calls = 0;
    const stop = new SharedStop({
      account: () => {
        calls += 1;
        if (calls === 1) return { ok: false, reason: "no-account", message: "Not now." };
        return { ok: true, account: { uid: ME, gid: ME, name: "me", home: where.root } };
      },
      platformFolder: where.root,
    });
    assert.equal(verdict(stop.check()), "unclear");
    assert.equal(verdict(stop.check()), "clear");
  });
});

describe("a run under a shared stop", () => {
  test("is halted after its call, and may be recovered once it is lifted, without a resume", async (t) => {
    const where = await sharedLab(t);
    const opened = await openControl({
      env: where.env,
      account: () => ({ ok: true, account: where.account }),
      platformFolder: where.platformFolder,
      redact,
      pollMs: 20,
    });
    assert.ok(opened.ok);
    const { control } = opened;
    where.after(() => control.close());
    const enrolled = await control.enroll({ identity: "one", taskId: "one", cwd: "/usr" });
    assert.ok(enrolled.ok, JSON.stringify(enrolled));
    let how = "";
    control.onStop(async (order) => {
      how = order.how;
      await enrolled.task.acknowledge(order.epoch);
      await enrolled.task.report(order.epoch, {});
    });
    assert.ok((await setSharedStop(where.context)).ok);
    const record = () => {
      const reading = readRecordFile(where.folder, "one");
      return reading.state === "read" ? reading.value : undefined;
    };
    await until(() => record()?.state === "stopped", 5000, "the run is halted");
    assert.equal(how, "after-call");
    assert.equal(record()?.cause, "shared-folder");
    assert.deepEqual(record()?.shared, { folder: where.shared, person: ME });
    assert.ok((record()?.epoch ?? 0) > 0);
    const refused = await control.enroll({ identity: "two", taskId: "two", cwd: "/usr" });
    assert.equal(reasonOf(refused), "estop");
    const lifted = await liftSharedStop(where.context);
    assert.ok(lifted.ok);
    const line = JSON.parse(readFileSync(liftLogOf(where.account.home), "utf8")) as Record<string, unknown>;
    assert.equal(line["act"], "lift");
    assert.equal(line["at"], "2026-05-06T07:08:09.000Z");
    assert.equal(lstatSync(liftLogOf(where.account.home)).mode & 0o777, 0o600);
    const again = await control.enroll({ identity: "one", taskId: "one", cwd: "/usr" });
    assert.ok(again.ok, JSON.stringify(again));
  });
});

describe("without a shared folder", () => {
  test("the person's stop lies in the home and reaches this account", async (t) => {
    const where = lab(t);
    const account = { uid: ME, gid: ME, name: "me", home: where.root };
    const context: ActContext = { account, ownership: systemOwnership, now: () => new Date() };
    const set = await setSharedStop(context);
    assert.ok(set.ok && set.reach === "this account" && set.path === homeStopOf(where.root));
    const stop = new SharedStop({ account: () => ({ ok: true, account }), platformFolder: where.root });
    const check = new StopChecker(where.folder, stop.check).check();
    assert.ok(!check.clear && check.source === "shared-folder");
    assert.ok((await liftSharedStop(context)).ok);
    assert.equal(new StopChecker(where.folder, stop.check).check().clear, true);
    assert.equal(reasonOf(await liftSharedStop(context)), "not-in-force");
  });
});

describe("the day's page", () => {
  test("is one file for each account, put together by the reader, who believes each only for its owner", async (t) => {
    const where = await sharedLab(t);
    const entry = {
      at: "2026-05-06T07:00:00Z",
      by: "me",
      reason: "lunch\u001b[31m",
      runs: [{ identity: "one", title: "fix\nit", state: "stopped", left: ["2 files put aside"] }],
    };
    const written = writePage(where.shared, "2026-05-06", [entry], systemOwnership);
    assert.ok(written.ok);
    const folder = join(where.shared, "pi-claude-supervisor-digest", "2026-05-06");
    writeFileSync(join(folder, "4711.md"), "# forged\n");
    const read = readPages(where.shared, "2026-05-06", systemOwnership);
    assert.ok(read.ok);
    assert.match(read.text, /one \(stopped\): fix\\u000ait/);
    assert.match(read.text, /2 files put aside/);
    assert.match(read.text, /armed before the stop .* is not withdrawn/);
    assert.doesNotMatch(read.text, /forged|\u001b/);
    assert.equal(reasonOf(readPages(where.shared, "../..", systemOwnership)), "bad-path");
  });
});
