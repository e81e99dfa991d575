/** The limits of a day over all tasks of a state folder: real files, scripted `claude`. */
import assert from "node:assert/strict";
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { manualClock } from "../../src/platform/clock.ts";
import { usedUp } from "../../src/supervisor/day-budget.ts";
import { createDayLedger, dayOf } from "../../src/supervisor/day-ledger.ts";
import { supervisorDeps } from "../../src/supervisor/index.ts";
import { createLab } from "../support/workspace.ts";
import { OPENING, openStage } from "./stage.ts";

const result = (usd: number) => ({ result: { total_cost_usd: usd } });

async function withLimit(t: TestContext, perDay: object) {
  const lab = await createLab(t);
  const agentDir = join(lab.tmp, "agent");
  await mkdir(agentDir);
  await writeFile(join(agentDir, "supervisor.json"), JSON.stringify({ perDay }), { mode: 0o600 });
  return { lab, seams: () => ({ agentDir }) };
}

describe("a limit of a day", () => {
  test("counts all tasks, warns at 80 %, and ends automatic moves when it is used up; a person goes on", async (t) => {
    const { lab, seams } = await withLimit(t, { usd: 1 });
    const first = await openStage(t, { lab, seams, steps: [...OPENING, result(0.5)] });
    const one = await first.start({ mode: "auto" });
    await first.when(one, (view) => view.state === "completed", "the first task's end", 30_000);

    const second = await openStage(t, { lab, seams, steps: [...OPENING, result(0.35), { prompt: true }, result(0.6)] });
    const two = await second.start({ mode: "auto", verify: ["false"] });
    const parked = await second.when(two, (view) => view.reason === "per-day-usd", "the limit", 30_000);
    assert.equal(parked.state, "human_required");
    assert.match(parked.why ?? "", /\$1\.1\d? today/);
    const events = await second.events(two);
    const warnings = events.filter((event) => event.type === "budget.warning").map((event) => event.data);
    assert.deepEqual(
      warnings.map((data) => (data as { budget: string }).budget),
      ["per-day-usd"],
    );
    const refused = await second.supervisor.start({
      goal: "More",
      from: await lab.repo({ "a.txt": "x\n" }, "other"),
      mode: "auto",
      verify: ["true"],
    });
    assert.ok(!refused.ok && refused.reason === "per-day-usd", JSON.stringify(refused));
    assert.ok((await second.supervisor.send(two, "One more thing")).ok);
    await second.when(two, (view) => view.turns === 3 && view.state === "human_required", "a person's message", 30_000);
  });
});

describe("after midnight", () => {
  /** A night: real files and a scripted `claude`, the clock of the supervisor in the test's hand. */
  async function evening(t: TestContext, start: Date) {
    const { lab, seams } = await withLimit(t, { usd: 1 });
    const clock = manualClock(start);
    const stage = await openStage(t, {
      lab,
      seams: () => ({ ...seams(), clock }),
      steps: [...OPENING, result(1.2), { prompt: true }, result(1.3)],
    });
    const fine = join(lab.tmp, "fine");
    const taskId = await stage.start({ mode: "auto", verify: [`test -e ${fine}`] });
    /* The supervisor looks at its files by this clock. */
    const look = (ms = 600): void => clock.advance(ms);
    return { lab, clock, stage, taskId, fine, look };
  }

  test("what waited for the limit alone goes on by itself, and the morning can be told why", async (t) => {
    const { clock, stage, taskId, fine } = await evening(t, new Date(2026, 2, 28, 23, 40));
    const parked = await stage.when(taskId, (view) => view.reason === "per-day-usd", "the limit", 30_000);
    assert.deepEqual([parked.state, parked.waitsFor], ["human_required", "person"]);
    assert.match(parked.why ?? "", /goes on by itself when the next day begins/);
    clock.advance(19 * 60_000);
    assert.equal((await stage.view(taskId)).reason, "per-day-usd", "still the same day");
    await writeFile(fine, "");
    clock.advance(2 * 60_000);
    await stage.when(taskId, (view) => view.state === "completed", "the end", 30_000);
    const types = (await stage.events(taskId)).map((event) => event.type);
    assert.deepEqual(
      types.filter((type) => type.startsWith("budget.")),
      ["budget.exhausted", "budget.renewed"],
    );
    const replayed = await stage.supervisor.replay(taskId);
    assert.ok(replayed.ok && replayed.matches, JSON.stringify(replayed));
  });

  test("a raised limit lets it go on at once; another reason to wait stays", async (t) => {
    const { lab, stage, taskId, look } = await evening(t, new Date(2026, 2, 28, 12, 0));
    const limit = (perDay: object): Promise<void> =>
      writeFile(join(lab.tmp, "agent", "supervisor.json"), JSON.stringify({ perDay, ...{ maxRounds: 9 } }), {
        mode: 0o600,
      });
    await stage.when(taskId, (view) => view.reason === "per-day-usd", "the limit", 30_000);
    await limit({ usd: 50 });
    look();
    await stage.when(taskId, (view) => view.turns === 2, "the evidence to be sent", 30_000);
    const other = await stage.when(taskId, (view) => view.reason === "stalled", "the same words again", 30_000);
    assert.equal(other.rounds.failed, 2);
    await limit({ usd: 1 });
    look(3_000);
    assert.equal((await stage.view(taskId)).reason, "stalled", "what waits already waits for its own reason");
    await limit({});
    look(3_000);
    assert.equal((await stage.view(taskId)).reason, "stalled");
  });
});

describe("the ledger", () => {
  async function ledger(t: TestContext, start = new Date(2026, 2, 28, 23, 59)) {
    const lab = await createLab(t);
    const made = supervisorDeps({ ...lab.env, PI_CLAUDE_SUPERVISOR_STATE_DIR: lab.stateDir });
    assert.ok(made.ok);
    const clock = manualClock(start);
    const { layout } = made.deps;
    return { clock, layout, of: () => createDayLedger({ layout, clock }) };
  }

  test("sums the tasks of all processes, for the local day only", async (t) => {
    const { clock, of, layout } = await ledger(t);
    const [here, there] = [of(), of()];
    here.add("t-1", { usd: 0.25, decisions: 1 });
    here.add("t-1", { usd: 0.25, decisions: 2 });
    there.add("t-2", { usd: 1, decisions: 0 });
    clock.advance(3_000);
    assert.deepEqual(here.today(), { usd: 1.5, decisions: 3 });
    clock.advance(60_000);
    assert.deepEqual(here.today(), { usd: 0, decisions: 0 }, "midnight");
    here.add("t-1", { usd: 2, decisions: 0 });
    assert.deepEqual(here.today(), { usd: 2, decisions: 0 });
    clock.advance(2 * 86_400_000);
    here.add("t-1", { usd: 1, decisions: 0 });
    assert.deepEqual(await readdir(join(layout.root, "days")), [dayOf(clock.now())], "old days are gone");
  });

  const broken = ["", "{", "[]", "null", '{"usd":"1"}', '{"usd":-4,"decisions":1e999}'];
  for (const text of broken)
    test(`takes ${JSON.stringify(text)} for nothing`, async (t) => {
      const { of, layout, clock } = await ledger(t);
      of().add("t-1", { usd: 1, decisions: 1 });
      await writeFile(join(layout.root, "days", dayOf(clock.now()), "t-2.json"), text);
      assert.deepEqual(of().today(), { usd: 1, decisions: 1 });
    });
});

test("the share of a limit is judged for each limit, the worst first", () => {
  const limits = { usd: 10, decisions: 100 };
  const names = (usd: number, decisions: number, share: number) =>
    usedUp({ usd, decisions }, limits, share).map((one) => one.budget);
  assert.deepEqual(names(7.9, 79, 0.8), []);
  assert.deepEqual(names(8, 99, 0.8), ["per-day-decisions", "per-day-usd"]);
  assert.deepEqual(names(10, 99, 1), ["per-day-usd"]);
  assert.deepEqual(usedUp({ usd: 99, decisions: 99 }, { usd: undefined, decisions: undefined }, 1), []);
  assert.deepEqual(
    usedUp({ usd: 0, decisions: 0 }, { usd: undefined, decisions: 0 }, 1).map((one) => one.budget),
    ["per-day-decisions"],
  );
});
