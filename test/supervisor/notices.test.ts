/** Notices from real tasks to a receiver on loopback: scripted `claude`, real files and connections. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import type { PersonCalled } from "../../src/core/contracts/notice.ts";
import { SIGNATURE_HEADER, signatureOf } from "../../src/notify/index.ts";
import { type Behave, type Sink, sink } from "../notify/sink.ts";
import { until } from "../support/until.ts";
import { createLab } from "../support/workspace.ts";
import { OPENING, openStage, type Stage, type StageOptions, type Step } from "./stage.ts";

interface Told {
  id: string;
  reason: string;
  taskId: string;
  state: string;
  title: string;
  text?: string;
  next?: string[];
  request?: { requestId: string };
}

interface Called extends Stage {
  hook: Sink;
  told(): Told[];
  toldOf(taskId: string): Told[];
}

async function openCalled(
  t: TestContext,
  steps: readonly Step[],
  settings: object = {},
  behave?: Behave,
  more: Partial<StageOptions> = {},
): Promise<Called> {
  const lab = more.lab ?? (await createLab(t));
  const hook = await sink(t, behave);
  const agentDir = join(lab.tmp, "agent");
  await mkdir(agentDir, { recursive: true });
  const webhook = { url: hook.url, ...settings };
  await writeFile(join(agentDir, "supervisor.json"), JSON.stringify({ webhook }), { mode: 0o600 });
  const stage = await openStage(t, { lab, steps: [...OPENING, ...steps], seams: () => ({ agentDir }), ...more });
  const told = (): Told[] => hook.received.map((one) => JSON.parse(one.body) as Told);
  return { ...stage, hook, told, toldOf: (taskId) => told().filter((one) => one.taskId === taskId) };
}

const REVIEWED: Step = { hook: { tool: "Bash", input: { command: "node gen.mjs" } } };
const waits = async (stage: Called, n: number) =>
  until(
    () => stage.told().length >= n,
    30_000,
    () => `${n} notices: ${JSON.stringify(stage.told())}`,
  );

describe("a notice", () => {
  test("tells of a waiting call what it is and how to answer it, signed, without secrets, and once", async (t) => {
    const secret = randomBytes(16).toString("hex");
    const token = `ghp_${randomBytes(18).toString("hex")}`;
    const stage = await openCalled(
      t,
      [{ hook: { tool: "Bash", input: { command: `TOKEN=${token} node gen.mjs` } } }, { result: {} }],
      { secret },
    );
    const taskId = await stage.start({ mode: "auto" });
    await waits(stage, 1);
    const [first] = stage.told();
    assert.equal(first?.reason, "approval");
    assert.equal(first?.state, "human_required");
    assert.match(first?.text ?? "", /node gen\.mjs/);
    const requestId = first?.request?.requestId ?? "";
    assert.deepEqual(first?.next, [`/supervise approve ${requestId}`, `/supervise deny ${requestId}`]);
    const [got] = stage.hook.received;
    assert.equal(got?.headers[SIGNATURE_HEADER], signatureOf(got?.body ?? "", secret));
    assert.equal(got?.headers["idempotency-key"], first?.id);
    assert.ok(!JSON.stringify(stage.hook.received).includes(token));
    assert.ok((await stage.supervisor.deny(requestId, "no", "command")).ok);
    await stage.when(taskId, (view) => view.state === "completed", "the end", 30_000);
    assert.equal(stage.told().length, 1, JSON.stringify(stage.told()));
    const log = await readFile((await stage.view(taskId)).logPath, "utf8");
    assert.match(log, /"person\.called".*"ok":true/);
    for (const hidden of [stage.hook.url, secret, token]) assert.ok(!log.includes(hidden), "a secret is in the log");
  });

  test("is not sent for what a person answers at once", async (t) => {
    const stage = await openCalled(t, [REVIEWED, { result: {} }]);
    stage.supervisor.subscribe(({ event }) => {
      const { requestId } = event.data as { requestId?: string };
      if (event.type === "gate.verdict" && requestId !== undefined)
        setImmediate(() => void stage.supervisor.deny(requestId, undefined, "dialog"));
    });
    const taskId = await stage.start({ mode: "auto" });
    await stage.when(taskId, (view) => view.state === "completed", "the end", 30_000);
    await stage.supervisor.shutdown(1_000);
    assert.deepEqual(stage.told(), []);
  });

  test("of a completed task is sent when it was asked for", async (t) => {
    const stage = await openCalled(t, [{ result: {} }], { completed: true });
    const taskId = await stage.start({ mode: "auto" });
    await waits(stage, 1);
    assert.deepEqual([stage.told()[0]?.reason, stage.told()[0]?.taskId], ["completed", taskId]);
  });

  test("of a dead worker says how it ended", async (t) => {
    const stage = await openCalled(t, [{ say: "half" }, { exit: 143 }]);
    const taskId = await stage.start({ mode: "manual" });
    await waits(stage, 1);
    const [told] = stage.told();
    assert.deepEqual([told?.reason, told?.state], ["worker-exit", "failed"]);
    assert.match(told?.next?.join(" ") ?? "", new RegExp(`recover ${taskId}`));
  });

  test("leaves with the process when Pi quits right after the wait began", async (t) => {
    const stage = await openCalled(t, [REVIEWED]);
    const taskId = await stage.start({ mode: "auto" });
    await stage.when(taskId, (view) => view.waitsFor === "approval", "the wait", 30_000);
    await stage.supervisor.shutdown(4_000);
    assert.deepEqual(
      stage.told().map((one) => one.reason),
      ["approval"],
    );
  });
});

describe("whoever shows calls on this machine", () => {
  async function openHeard(t: TestContext, settings: object, steps: readonly Step[]) {
    const lab = await createLab(t);
    const agentDir = join(lab.tmp, "agent");
    await mkdir(agentDir, { recursive: true });
    const set = (content: object): Promise<void> =>
      writeFile(join(agentDir, "supervisor.json"), JSON.stringify(content), { mode: 0o600 });
    await set(settings);
    const stage = await openStage(t, { lab, steps: [...OPENING, ...steps], seams: () => ({ agentDir }) });
    const heard: PersonCalled[] = [];
    const leave = stage.supervisor.subscribeCalls((call) => heard.push(call));
    return { ...stage, heard, leave, set };
  }

  test("hears of each wait and of the end, once, without any webhook, as the person's file says then", async (t) => {
    const stage = await openHeard(t, { terminalNotices: "bell" }, [REVIEWED, REVIEWED, { result: {} }]);
    const taskId = await stage.start({ mode: "auto" });
    const next = (n: number) =>
      until(
        () => stage.heard.length >= n,
        30_000,
        () => JSON.stringify(stage.heard),
      );
    await next(1);
    assert.deepEqual(stage.heard, [
      { taskId, reason: "approval", title: `${taskId} asks for Bash`, goal: "Do it", terminal: "bell" },
    ]);
    const answer = async () => {
      const view = await stage.when(taskId, (now) => now.requests.length === 1, "a request", 30_000);
      assert.ok((await stage.supervisor.deny(view.requests[0]?.requestId ?? "", undefined, "command")).ok);
    };
    await stage.set({});
    await answer();
    await next(2);
    await answer();
    await next(3);
    assert.deepEqual(
      stage.heard.map(({ reason, terminal }) => [reason, terminal]),
      [
        ["approval", "bell"],
        ["approval", "auto"],
        ["completed", "auto"],
      ],
    );
  });

  test("hears nothing where the person has switched it off, and the webhook is told all the same", async (t) => {
    const hook = await sink(t);
    const stage = await openHeard(t, { terminalNotices: "off", webhook: { url: hook.url } }, [REVIEWED]);
    await stage.start({ mode: "auto" });
    await until(() => hook.received.length === 1, 30_000, "the webhook's notice");
    assert.deepEqual(stage.heard, []);
  });
});

describe("a cause that stops several tasks", () => {
  const LOGIN: Step = { result: { subtype: "success", is_error: true, api_error_status: 401, result: "login" } };

  test("B6: is told once for all of them, in every process, and again when it comes back", async (t) => {
    const lab = await createLab(t);
    const stage = await openCalled(t, [LOGIN, { prompt: true }, { result: {} }], {}, undefined, { lab });
    const here = await stage.start({ mode: "auto" });
    await waits(stage, 1);
    assert.deepEqual([stage.told()[0]?.reason, stage.told()[0]?.taskId], ["auth", here]);
    /* Another Pi with the same state folder and configuration. */
    const other = await openStage(t, {
      lab,
      steps: [...OPENING, LOGIN],
      seams: () => ({ agentDir: join(lab.tmp, "agent") }),
    });
    const there = await other.start({ mode: "auto" });
    await other.when(there, (view) => view.reason === "auth", "the second task's wait", 30_000);
    await other.supervisor.shutdown(1_000);
    assert.equal(stage.told().length, 1, "the second task waits for the same");
    assert.deepEqual(await readdir(join(lab.stateDir, "notices")), ["auth"]);
    assert.ok((await stage.supervisor.send(here, "I am logged in again")).ok);
    await stage.when(here, (view) => view.state === "completed", "the end", 30_000);
    assert.deepEqual(await readdir(join(lab.stateDir, "notices")), [], "the login works again");
  });
});

describe("a webhook that fails", () => {
  const answers: { what: string; behave: Behave; code: string }[] = [
    {
      what: "a redirect",
      behave: (response) => response.writeHead(302, { location: "http://127.0.0.1:1/" }).end(),
      code: "redirect",
    },
    { what: "a refusal", behave: (response) => response.writeHead(403).end("no"), code: "refused" },
  ];
  for (const { what, behave, code } of answers) {
    test(`by ${what} changes nothing else, and is said once`, async (t) => {
      const stage = await openCalled(t, [REVIEWED, REVIEWED, { result: {} }], {}, behave);
      const taskId = await stage.start({ mode: "auto" });
      for (const n of [1, 2]) {
        await waits(stage, n);
        const view = await stage.when(taskId, (now) => now.requests.length === 1, "a request", 30_000);
        await until(
          async () => (await stage.events(taskId)).filter((one) => one.type === "person.called").length === n,
          30_000,
          "the outcome on the log",
        );
        assert.ok((await stage.supervisor.deny(view.requests[0]?.requestId ?? "", undefined, "command")).ok);
      }
      await stage.when(taskId, (view) => view.state === "completed", "the end", 30_000);
      const events = await stage.events(taskId);
      const outcomes = events.filter((one) => one.type === "person.called").map((one) => one.data);
      assert.deepEqual(
        outcomes.map((data) => (data as { failure?: string }).failure),
        [code, code],
      );
      const said = events.filter((one) => one.type === "notice").map((one) => (one.data as { text: string }).text);
      assert.equal(said.length, 1, JSON.stringify(said));
      assert.match(said[0] ?? "", /waits all the same/);
      assert.ok(!JSON.stringify(events).includes(stage.hook.url));
    });
  }
});
