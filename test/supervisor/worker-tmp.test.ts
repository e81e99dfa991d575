import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { test } from "node:test";
import { makeTmpDir, sweepTmpDirs } from "../../src/supervisor/worker-tmp.ts";
import { createLab } from "../support/workspace.ts";

test("an empty folder of a process that is gone is swept; one in use, one with something in it and a stranger's stay", async (t) => {
  const { tmp } = await createLab(t);
  const mine = await makeTmpDir(tmp);
  assert.ok(mine.ok);
  assert.equal(statSync(mine.path).mode & 0o777, 0o700);
  const own = basename(mine.path);
  const ended = execFileSync("sh", ["-c", "echo $$"], { encoding: "utf8" }).trim();
  const life = own.split("-")[4] ?? "";
  const left = `pi-claude-worker-${ended}-0123abcd-AbCd12`;
  const reused = `pi-claude-worker-${process.pid}-${life === "0123abcd" ? "deadbeef" : "0123abcd"}-AbCd12`;
  const full = `pi-claude-worker-${ended}-0123abcd-Full12`;
  const others = [full, "pi-claude-worker-AbCd12", "pi-claude-worker-1-x-AbCd12", "something"];
  for (const name of [left, reused, ...others]) mkdirSync(join(tmp, name));
  writeFileSync(join(tmp, full, "work"), "of a tool");
  assert.equal(await sweepTmpDirs(tmp), 2);
  assert.deepEqual(readdirSync(tmp).sort(), [own, ...others].sort());
});
