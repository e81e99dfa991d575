/** The stop between two real accounts of this machine: who owns what is asked of the system, and the system refuses. */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { chmodSync, chownSync, existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { build } from "esbuild";
import { StopChecker } from "../../src/control/check.ts";
import { latchPath, recordPath, stopAllPath } from "../../src/control/folder.ts";
import { ALL, setLatch } from "../../src/control/set-latch.ts";
import { type ActContext, setSharedFolder, setSharedStop } from "../../src/control/shared-acts.ts";
import { stopFileOf } from "../../src/control/shared-names.ts";
import { readPages } from "../../src/control/shared-page.ts";
import { systemOwnership } from "../../src/platform/account.ts";
import { identify, isAlive, signal } from "../../src/platform/process/index.ts";
import { lab, latchRequest, REPO } from "./support.ts";

const ME = systemOwnership.uid;
const SECOND = 65_534;
const BECOME = [`--reuid=${SECOND}`, `--regid=${SECOND}`, "--clear-groups"];
const canBeAnother = ME === 0 && spawnSync("setpriv", [...BECOME, process.execPath, "-e", "0"]).status === 0;

/** A home of the second account, and a program of ours that it can read: the checkout may be private. */
async function twoAccounts(t: TestContext) {
  const where = lab(t);
  chmodSync(where.root, 0o755);
  const shared = join(where.root, "shared");
  mkdirSync(shared);
  chmodSync(shared, 0o1777);
  const home = join(where.root, "second");
  mkdirSync(home, { mode: 0o700 });
  chownSync(home, SECOND, SECOND);
  const program = join(where.root, "second-account.mjs");
  await build({
    absWorkingDir: REPO,
    entryPoints: ["test/control/second-account.ts"],
    outfile: program,
    bundle: true,
    platform: "node",
    format: "esm",
    external: ["execa"],
  });
  const asSecond = (act: string, foreign = ""): string => {
    const run = spawnSync("setpriv", [...BECOME, process.execPath, program, act], {
      cwd: "/",
      encoding: "utf8",
      env: {
        PATH: `${dirname(process.execPath)}:${process.env.PATH ?? ""}`,
        HOME: home,
        SHARED: shared,
        PERSON: String(ME),
        FOREIGN: foreign,
        TMPDIR: home,
      },
    });
    assert.equal(run.status, 0, run.stderr);
    return run.stdout.trim();
  };
  return { ...where, shared, asSecond };
}

describe("with a real second account", { skip: canBeAnother ? false : "needs root and setpriv" }, () => {
  test("11, 59: honours the person's stop, can't take it away, and holds where it may not look", async (t) => {
    const { root, shared, asSecond } = await twoAccounts(t);
    const account = { uid: ME, gid: ME, name: "me", home: join(root, "home") };
    mkdirSync(account.home, { mode: 0o700 });
    const context: ActContext = { account, ownership: systemOwnership, now: () => new Date() };
    assert.ok((await setSharedFolder({ folder: shared, person: { uid: ME, name: "me" } }, context)).ok);
    assert.equal(asSecond("choose"), "ok");
    assert.equal(asSecond("check"), "clear");
    assert.ok((await setSharedStop(context)).ok);
    assert.equal(asSecond("check"), "stop");
    assert.equal(asSecond("set"), "not-the-person");
    assert.equal(asSecond("lift"), "not-the-person");
    assert.match(asSecond("remove"), /EACCES|EPERM/);
    assert.match(asSecond("move"), /EACCES|EPERM/);
    chmodSync(stopFileOf(shared, ME), 0o000);
    assert.equal(asSecond("check"), "unclear");
    rmSync(stopFileOf(shared, ME));
    assert.equal(asSecond("check"), "clear");
    assert.match(asSecond("page"), /\.md$/);
    const pages = readPages(shared, "2026-05-06", systemOwnership);
    assert.ok(pages.ok && pages.text.includes(`user ${SECOND}`));
  });

  test("46: what the second account may not kill is listed, and its stop has failed", async (t) => {
    const { asSecond, after } = await twoAccounts(t);
    const child = spawn("sleep", ["600"], { stdio: "ignore" });
    const mine = identify(child.pid ?? -1);
    assert.ok(mine);
    after(() => signal(mine, "SIGKILL"));
    assert.equal(asSecond("kill", String(mine.pid)), `1, failed-to-stop, process ${mine.pid}`);
    assert.ok(isAlive(mine));
  });

  test("3: the first account's control folder is nobody else's", async (t) => {
    const { asSecond, folder } = await twoAccounts(t);
    assert.match(asSecond("folder", folder.path), /^(?:no-access|wrong-owner)$/);
    for (const path of [dirname(folder.path), folder.path]) chmodSync(path, 0o755);
    assert.equal(asSecond("folder", folder.path), "wrong-owner");
  });

  test("5: files of the second account in the first one's control folder hold, and are no stop and no resume", async (t) => {
    const { folder } = await twoAccounts(t);
    for (const path of [stopAllPath(folder), latchPath(folder), recordPath(folder, "one")]) {
      writeFileSync(path, "{}", { mode: 0o600 });
      chownSync(path, SECOND, SECOND);
      const check = new StopChecker(folder).check("one");
      assert.ok(!check.clear && check.reason === "unclear", `${path}: ${JSON.stringify(check)}`);
      assert.ok(check.message.includes(path), check.message);
      rmSync(path);
    }
    writeFileSync(latchPath(folder), "{}", { mode: 0o600 });
    chownSync(latchPath(folder), SECOND, SECOND);
    const stopped = await setLatch(folder, latchRequest("stop", ALL));
    assert.ok(stopped.ok && stopped.latched.durable === "full", JSON.stringify(stopped));
    assert.ok(existsSync(latchPath(folder)));
  });
});
