/** The person's shared stop and a supervisor: halted after the call, work put aside, the page, and what can't be put aside. */
import assert from "node:assert/strict";
import { chmodSync, mkdirSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { type ControlFolder, openControlFolder } from "../../src/control/folder.ts";
import type { Actor, ControlRecord } from "../../src/control/record.ts";
import { resume } from "../../src/control/resume.ts";
import { type ActContext, liftSharedStop, setSharedFolder, setSharedStop } from "../../src/control/shared-acts.ts";
import { readPages } from "../../src/control/shared-page.ts";
import { systemOwnership } from "../../src/platform/account.ts";
import { assertNoneLeft } from "../support/processes.ts";
import { until } from "../support/until.ts";
import { createLab } from "../support/workspace.ts";
import { OPENING, openStage, type Stage } from "./stage.ts";

const ME = systemOwnership.uid;
const ACTOR: Actor = { uid: ME, kind: "person", tty: true, host: "test" };

interface SharedStage extends Stage {
  context: ActContext;
  shared: string;
  folder: ControlFolder;
}

/** An account that has chosen a shared folder of its own person, and a task at work in it. */
async function sharedStage(t: Parameters<typeof openStage>[0]): Promise<SharedStage> {
  const lab = await createLab(t);
  const [shared, platformFolder] = ["shared", "platform"].map((name) => {
    const path = join(lab.root, name);
    mkdirSync(path);
    chmodSync(path, 0o1777);
    return path;
  });
  if (shared === undefined || platformFolder === undefined) throw new Error("no folders");
  const account = { uid: ME, gid: ME, name: "me", home: lab.home };
  const context: ActContext = { account, ownership: systemOwnership, now: () => new Date() };
  const chosen = await setSharedFolder({ folder: shared, person: { uid: ME, name: "me" } }, context);
  assert.ok(chosen.ok, JSON.stringify(chosen));
  const sharedStop = { account: () => ({ ok: true as const, account }), platformFolder };
  const stage = await openStage(t, { lab, steps: [...OPENING, { eof: true }], seams: () => ({ sharedStop }) });
  const opened = openControlFolder({ env: { PI_CLAUDE_SUPERVISOR_STATE_DIR: lab.stateDir } });
  assert.ok(opened.ok);
  return { ...stage, context, shared, folder: opened.folder };
}

function recordOf(stage: SharedStage, identity: string): ControlRecord {
  return JSON.parse(readFileSync(join(stage.folder.path, `${identity}.json`), "utf8")) as ControlRecord;
}

/** Until the record says how it ended, and the page was tried. */
function halted(stage: SharedStage, taskId: string): Promise<ControlRecord> {
  let last: ControlRecord | undefined;
  return until(
    () => {
      last = recordOf(stage, taskId);
      return last.cleanup.some((step) => step.step === "page") && stage.supervisor.live().length === 0
        ? last
        : undefined;
    },
    60_000,
    () => `the halt; last: ${JSON.stringify(last)}`,
  );
}

function pageOf(stage: SharedStage): string {
  const read = readPages(stage.shared, new Date().toISOString().slice(0, 10), systemOwnership);
  assert.ok(read.ok, JSON.stringify(read));
  return read.text;
}

describe("a shared stop", () => {
  test("halts every run, puts its work aside without touching it, writes the page, and needs no resume once lifted", async (t) => {
    const stage = await sharedStage(t);
    const other = await stage.lab.repo({ "b.txt": "b\n" });
    const taskId = await stage.start();
    const second = await stage.start({ goal: "Paint it", from: other });
    for (const id of [taskId, second]) await stage.when(id, (view) => view.state === "running", "a turn", 60_000);
    const { cwd, lab } = stage;
    writeFileSync(join(cwd, "a.txt"), "changed\n");
    writeFileSync(join(cwd, "staged.txt"), "staged\n");
    await lab.git(cwd, "add", "staged.txt");
    writeFileSync(join(cwd, "new.txt"), "new\n");
    const before = await lab.git(cwd, "status", "--porcelain");
    assert.ok((await setSharedStop(stage.context)).ok);
    const record = await halted(stage, taskId);
    await halted(stage, second);
    await assertNoneLeft(lab.mark, 1_000);
    assert.deepEqual([record.state, record.cause, record.remaining], ["stopped", "shared-folder", []]);
    const ref = `refs/pi-claude-supervisor/${taskId}/${record.epoch}`;
    assert.ok(record.cleanup.some((step) => step.step === "put work aside" && step.detail.includes(ref)));
    assert.equal(await lab.git(cwd, "status", "--porcelain"), before, "index, branch and files are as they were");
    for (const [file, text] of [
      ["a.txt", "changed\n"],
      ["staged.txt", "staged\n"],
      ["new.txt", "new\n"],
    ] as const)
      assert.equal(await lab.git(cwd, "show", `${ref}:${file}`), text);
    const page = pageOf(stage);
    assert.match(page, new RegExp(`${taskId} \\(stopped\\): ${cwd}: Do it`));
    assert.match(page, new RegExp(`${second} \\(stopped\\): ${other}: Paint it`));
    assert.match(page, /put work aside: done .*\n/);
    assert.match(page, /nothing was uncommitted/);
    const early = await stage.supervisor.recover(taskId, { fresh: false });
    assert.ok(!early.ok && early.reason === "estop", JSON.stringify(early));
    assert.ok((await liftSharedStop(stage.context)).ok);
    const back = await stage.supervisor.recover(taskId, { fresh: false });
    assert.ok(back.ok, JSON.stringify(back));
  });
});

describe("work that can't be put aside", () => {
  const faults: { name: string; spoil(stage: SharedStage): Promise<unknown>; says: RegExp }[] = [
    {
      name: "56: because there is too much of it",
      spoil: async ({ cwd }) => {
        writeFileSync(join(cwd, "huge.bin"), "");
        truncateSync(join(cwd, "huge.bin"), 65 * 1024 * 1024);
      },
      says: /more than 67108864/,
    },
    {
      name: "56: because a repository inside has work of its own",
      spoil: async ({ cwd, lab }) => {
        const inner = await lab.repo({ "c.txt": "c\n" }, join(cwd.slice(lab.root.length + 1), "inner"));
        writeFileSync(join(inner, "c.txt"), "changed\n");
      },
      says: /repository inner inside has uncommitted work/,
    },
    {
      name: "56: because its ref can't be written",
      spoil: async ({ cwd, lab }) => {
        writeFileSync(join(cwd, "a.txt"), "changed\n");
        await lab.git(cwd, "update-ref", "refs/pi-claude-supervisor", "HEAD");
      },
      says: /refs\/pi-claude-supervisor/,
    },
  ];
  for (const { name, spoil, says } of faults) {
    test(`${name} lies untouched, is named, and holds the task until a person has looked at it`, async (t) => {
      const stage = await sharedStage(t);
      const { cwd, lab } = stage;
      const taskId = await stage.start();
      await stage.when(taskId, (view) => view.state === "running", "a turn", 60_000);
      await spoil(stage);
      const before = await lab.git(cwd, "status", "--porcelain");
      assert.ok((await setSharedStop(stage.context)).ok);
      const record = await halted(stage, taskId);
      await assertNoneLeft(lab.mark, 1_000);
      assert.equal(record.state, "failed-to-stop");
      const [left] = record.remaining;
      assert.deepEqual([left?.kind, left?.id], ["worktree", cwd]);
      assert.match(left?.identity ?? "", says);
      assert.match(pageOf(stage), /remains: worktree/);
      assert.equal(await lab.git(cwd, "status", "--porcelain"), before);
      assert.ok((await liftSharedStop(stage.context)).ok);
      const held = await stage.supervisor.recover(taskId, { fresh: false });
      assert.ok(!held.ok && held.reason === "estop" && held.message.includes(`${taskId} resume`), JSON.stringify(held));
      const { epoch } = record;
      const lifted = await resume(stage.folder, { scope: taskId, epoch, reason: "seen", actor: ACTOR, requestId: "r" });
      assert.ok(lifted.ok, JSON.stringify(lifted));
      const back = await stage.supervisor.recover(taskId, { fresh: false });
      assert.ok(back.ok, JSON.stringify(back));
    });
  }
});
