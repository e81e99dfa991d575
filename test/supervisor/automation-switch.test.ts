/** `automation` in the person's supervisor.json, changed while tasks run: scripted `claude`, real files. */
import assert from "node:assert/strict";
import { mkdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { manualClock } from "../../src/platform/clock.ts";
import { automationSwitch, SAVING_MS } from "../../src/supervisor/automation-switch.ts";
import { createLab } from "../support/workspace.ts";
import { OPENING, openStage, type Stage, type Step } from "./stage.ts";

interface Switched extends Stage {
  agentDir: string;
  set(content: unknown): Promise<void>;
}

async function openSwitched(t: TestContext, steps: readonly Step[]): Promise<Switched> {
  const lab = await createLab(t);
  const agentDir = join(lab.tmp, "agent");
  await mkdir(agentDir, { recursive: true });
  const set = (content: unknown): Promise<void> => put(agentDir, JSON.stringify(content));
  await set({});
  const stage = await openStage(t, { lab, steps: [...OPENING, ...steps], seams: () => ({ agentDir }) });
  return { ...stage, agentDir, set };
}

/** As an editor does it: the file is replaced whole. */
async function put(agentDir: string, text: string): Promise<void> {
  const path = join(agentDir, "supervisor.json");
  await writeFile(`${path}.new`, text, { mode: 0o600 });
  await rename(`${path}.new`, path);
}

const messages = (stage: Stage): string[] =>
  stage.fake.factsOf("stdin").flatMap(({ line }) => {
    const message = JSON.parse(line) as { type: string; message?: { content: string } };
    return message.type === "user" ? [message.message?.content ?? ""] : [];
  });

const off = (view: { state: string; reason: string | null }): boolean =>
  view.state === "human_required" && view.reason === "automation-off";

describe("automation switched off in supervisor.json", () => {
  test("in a turn: the turn ends, nothing is verified or sent, and on again it goes on by itself", async (t) => {
    const stage = await openSwitched(t, [{ waitFile: "go" }, { result: {} }]);
    const taskId = await stage.start({ mode: "auto" });
    await stage.when(taskId, (view) => view.state === "running" && messages(stage).length === 1, "a turn");
    await stage.set({ automation: "off" });
    await stage.when(taskId, (view) => view.automation === "off", "the switch to be seen", 30_000);
    await writeFile(join(stage.cwd, "go"), "");
    const parked = await stage.when(taskId, off, "the wait", 30_000);
    assert.equal(parked.waitsFor, "person");
    assert.match(parked.why ?? "", /supervisor\.json/);
    assert.equal(parked.rounds.used, 0);
    assert.deepEqual(messages(stage), ["Do it"]);
    await stage.set({ automation: "on" });
    await stage.when(taskId, (view) => view.state === "completed", "the end", 30_000);
  });

  test("after a failing verification no evidence is sent; a person's verify and message work", async (t) => {
    const stage = await openSwitched(t, [{ result: {} }]);
    const script = join(stage.lab.tmp, "check.sh");
    await writeFile(script, `[ -e ${join(stage.lab.tmp, "fine")} ] && exit 0; sleep 1; exit 1\n`);
    const taskId = await stage.start({ mode: "auto", verify: [`sh ${script}`] });
    await stage.when(taskId, (view) => view.state === "verifying", "the verification", 30_000);
    await stage.set({ automation: "off" });
    await stage.when(taskId, off, "the wait", 30_000);
    assert.deepEqual(messages(stage), ["Do it"], "the evidence was not sent");
    const sent = await stage.supervisor.send(taskId, "Try it another way");
    assert.ok(sent.ok, JSON.stringify(sent));
    await stage.when(taskId, (view) => view.turns === 2 && off(view), "the answer to the person's message", 30_000);
    assert.deepEqual(messages(stage), ["Do it", "Try it another way"]);
    await writeFile(join(stage.lab.tmp, "fine"), "");
    const verified = await stage.supervisor.verify(taskId);
    assert.ok(verified.ok && verified.outcome === "pass" && verified.state === "completed", JSON.stringify(verified));
  });

  test("before a recovery: the worker comes back and is told nothing until a person says something", async (t) => {
    const stage = await openSwitched(t, [{ waitFile: "never" }]);
    const taskId = await stage.start({ mode: "auto" });
    await stage.when(taskId, (view) => view.state === "running" && messages(stage).length === 1, "a turn");
    const paused = await stage.supervisor.pause(taskId, undefined);
    assert.ok(paused.ok, JSON.stringify(paused));
    await stage.set({ automation: "off" });
    const back = await stage.supervisor.recover(taskId, { fresh: false });
    assert.deepEqual(back, { ok: true, state: "human_required" });
    assert.ok(off(await stage.view(taskId)));
    assert.deepEqual(messages(stage), ["Do it"]);
  });

  test("while a person has the wheel: what they give back goes out, and after that turn nothing does", async (t) => {
    const stage = await openSwitched(t, [{ waitFile: "go" }, { result: {} }]);
    const taskId = await stage.start({ mode: "auto" });
    await stage.when(taskId, (view) => view.state === "running" && messages(stage).length === 1, "a turn");
    const taken = await stage.supervisor.takeover(taskId);
    assert.ok(taken.ok, JSON.stringify(taken));
    await stage.set({ automation: "off" });
    await writeFile(join(stage.cwd, "go"), "");
    const back = await stage.supervisor.handback(taskId, "Only the sign is wrong.");
    assert.ok(back.ok, JSON.stringify(back));
    const parked = await stage.when(taskId, (view) => off(view) && view.turns >= 1, "the end of the turn", 30_000);
    assert.deepEqual([parked.rounds.used, messages(stage).length], [0, 2]);
    assert.match(messages(stage)[1] ?? "", /A person has worked in this session[\s\S]*Only the sign is wrong\./);
    await stage.set({ automation: "on" });
    await stage.when(taskId, (view) => view.state === "completed", "the end", 30_000);
  });

  test("means nothing to a manual task", async (t) => {
    const stage = await openSwitched(t, [{ result: {} }]);
    await stage.set({ automation: "off" });
    const taskId = await stage.start({ mode: "manual" });
    const view = await stage.when(taskId, (now) => now.waitsFor === "result", "the result", 30_000);
    assert.equal(view.automation, null);
  });
});

describe("automation switched off in the file of a trusted project", () => {
  test("holds the tasks that were started there, and nobody else's; on there does not undo the person's off", async (t) => {
    const stage = await openSwitched(t, [{ waitFile: "go" }, { result: {} }]);
    const project = join(stage.cwd, ".pi");
    await mkdir(project);
    const taskId = await stage.start({ mode: "auto", trustedProject: stage.cwd });
    const elsewhere = await stage.lab.repo({ "a.txt": "x\n" }, "elsewhere");
    const other = await stage.start({ mode: "auto", from: elsewhere });
    await stage.when(other, (view) => view.state === "running" && messages(stage).length === 2, "two turns", 30_000);
    await put(project, '{ "automation": "off" }');
    const seen = await stage.when(taskId, (view) => view.automation === "off", "the switch to be seen", 30_000);
    assert.equal(seen.state, "running", "the turn goes to its end");
    await writeFile(join(stage.cwd, "go"), "");
    await writeFile(join(elsewhere, "go"), "");
    const parked = await stage.when(taskId, off, "the wait", 30_000);
    assert.match(parked.why ?? "", /the project's \.pi\/supervisor\.json/);
    await stage.when(other, (view) => view.state === "completed", "the other task's end", 30_000);
    await stage.set({ automation: "off" });
    await put(project, '{ "automation": "on" }');
    await stage.when(taskId, (view) => off(view) && /off in supervisor\.json/.test(view.why ?? ""), "both", 30_000);
    await stage.set({});
    await stage.when(taskId, (view) => view.state === "completed", "the end", 30_000);
  });
});

describe("the look at the switch", () => {
  const looked = async (t: TestContext) => {
    const lab = await createLab(t);
    const agentDir = join(lab.tmp, "agent");
    await mkdir(agentDir);
    const clock = manualClock();
    return { agentDir, clock, root: lab.tmp, seen: automationSwitch({ env: {}, agentDir, clock }) };
  };

  test("counts a project's file for the tasks of that project alone, for off and never for on", async (t) => {
    const { agentDir, seen, root } = await looked(t);
    const [here, there] = [join(root, "here"), join(root, "there")];
    for (const project of [here, there]) await mkdir(join(project, ".pi"), { recursive: true });
    const tos = (): string[] => [seen.look(here).to, seen.look(there).to, seen.look().to];
    assert.deepEqual(tos(), ["on", "on", "on"]);
    await put(join(here, ".pi"), '{ "automation": "off" }');
    assert.deepEqual(tos(), ["off", "on", "on"]);
    await put(join(here, ".pi"), '{ "automation": "on" }');
    await put(agentDir, '{ "automation": "off" }');
    assert.deepEqual(tos(), ["off", "off", "off"]);
  });

  test("sees a file that appears, changes and goes", async (t) => {
    const { agentDir, seen } = await looked(t);
    assert.equal(seen.look().to, "on");
    await put(agentDir, '{ "automation": "off" }');
    assert.equal(seen.look().to, "off");
    await put(agentDir, '{ "automation": "on", "maxRounds": 4 }');
    assert.equal(seen.look().to, "on");
  });

  const broken = ["", "{", "[]", '{ "automation": "maybe" }', '{ "automaton": "off" }'];
  for (const text of broken) {
    test(`takes ${JSON.stringify(text)} for a file that is being saved, then for off, and says what is wrong`, async (t) => {
      const { agentDir, clock, seen } = await looked(t);
      assert.equal(seen.look().to, "on");
      await put(agentDir, text);
      assert.equal(seen.look().to, "on");
      clock.advance(SAVING_MS);
      const { to, why } = seen.look();
      assert.equal(to, "off");
      assert.match(why, /supervisor\.json/);
      await put(agentDir, "{}");
      assert.equal(seen.look().to, "on");
    });
  }
});
