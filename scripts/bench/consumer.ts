/**
 * One reader of Claude's stream in a process of its own: `consumer.ts raw|readline|adapter|gate|supervisor|sdk-hook|sdk-ask`,
 * with BENCH_TASK for the fake claude and BENCH_FOLDER to work in. Prints one JSON line: { ms, events, rssMiB }, `ms` from
 * the turn's beginning to its result. `raw` is the least that a gate can do: find the line feeds, parse, write back.
 */
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { GateReply, WorkerEvent } from "../../src/core/contracts/worker.ts";
import { createIds } from "../../src/platform/ids.ts";

type HookEvent = Extract<WorkerEvent, { type: "hook" }>;

export const FAKE = fileURLToPath(new URL("./fake-claude.mjs", import.meta.url));
const folder = process.env["BENCH_FOLDER"] ?? "";
const cwd = join(folder, "work");
let began = 0;
let events = 0;

interface Message {
  type?: string;
  subtype?: string;
  request_id?: string;
}

function finish(): void {
  const ms = performance.now() - began;
  console.log(JSON.stringify({ ms, events, rssMiB: process.resourceUsage().maxRSS / 1024 }));
}

/** True at the turn's end. */
function count(message: Message): boolean {
  if (message.type === "system" && message.subtype === "init") began = performance.now();
  else if (message.type === "assistant") events += 1;
  return message.type === "result";
}

async function bare(lines: "scan" | "readline"): Promise<void> {
  const child = spawn(process.execPath, [FAKE], { cwd, stdio: ["pipe", "pipe", "inherit"] });
  const write = (message: object): void => void child.stdin.write(`${JSON.stringify(message)}\n`);
  const over = new Promise<void>((resolve) => {
    const take = (line: string): void => {
      const message = JSON.parse(line) as Message;
      if (message.type === "control_request") {
        const output = { hookEventName: "PreToolUse", permissionDecision: "allow", permissionDecisionReason: "" };
        const response = {
          subtype: "success",
          request_id: message.request_id,
          response: { hookSpecificOutput: output },
        };
        write({ type: "control_response", response });
      } else if (count(message)) resolve();
    };
    if (lines === "readline") createInterface({ input: child.stdout }).on("line", take);
    else scan(child.stdout, take);
  });
  write({ type: "control_request", request_id: "init", request: { subtype: "initialize", hooks: {} } });
  write({ type: "user", uuid: randomUUID(), message: { role: "user", content: "go" } });
  await over;
  finish();
  child.stdin.end();
}

function scan(stream: NodeJS.ReadableStream, take: (line: string) => void): void {
  let held: Buffer[] = [];
  stream.on("data", (chunk: Buffer) => {
    let from = 0;
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, from)) {
      const piece = chunk.subarray(from, at);
      take((held.length === 0 ? piece : Buffer.concat([...held, piece])).toString("utf8"));
      held = [];
      from = at + 1;
    }
    if (from < chunk.length) held.push(chunk.subarray(from));
  });
}

/** What a verdict needs at least: the policy on facts in memory, redaction, one chained record in the kernel. */
async function gateAlone(): Promise<(event: HookEvent) => GateReply> {
  const { judge } = await import("../../src/policy/index.ts");
  const { createRedactor } = await import("../../src/redaction/index.ts");
  const { createEventLog, openEventLog } = await import("../../src/store/open-log.ts");
  const { contextOf, factsOf } = await import("../corpus/policy.ts");
  const [context, facts, redactor] = [contextOf({}), factsOf({}), createRedactor({ salt: "bench" })];
  const path = join(folder, "events.jsonl");
  const created = createEventLog(path);
  const opened = created.ok ? openEventLog(path, { taskId: createIds().taskId() }) : created;
  if (!opened.ok) throw new Error(opened.message);
  return ({ toolUseId, toolName, input }) => {
    const { verdict, rule, reason } = judge({ toolName, input, cwd: context.workspace }, context, facts);
    const data = { toolUseId, toolName, verdict, rule, reason, input: redactor.data(input) };
    const written = opened.log.appendSoon([{ type: "gate.verdict", data }]);
    return { decision: written.ok && verdict === "allow" ? "allow" : "deny", reason };
  };
}

/** The product's adapter: contained process, framing, control channel, mapping to worker events; `gate` answers calls. */
async function adapter(gate?: (event: HookEvent) => GateReply): Promise<void> {
  const { createWorker, systemDeps } = await import("../../src/worker/index.ts");
  const { createRedactor } = await import("../../src/redaction/index.ts");
  const { findClaude } = await import("../../src/worker/executable.ts");
  const found = await findClaude({ configured: FAKE, host: process.env });
  if (!found.ok) throw new Error(found.message);
  for (const name of ["tmp", "artifacts"]) mkdirSync(join(folder, name), { recursive: true, mode: 0o700 });
  const worker = createWorker(
    "claude-jsonl",
    {
      taskId: "t-bench",
      workerId: "w-bench",
      executable: found.executable,
      cwd,
      sessionId: randomUUID(),
      resume: false,
      trust: "user",
      workerEnvNames: ["BENCH_TASK"],
      tmpDir: join(folder, "tmp"),
      cgroup: "auto",
      startupTimeoutMs: 30_000,
      artifactDir: join(folder, "artifacts"),
    },
    systemDeps({ redactor: createRedactor({ salt: "bench" }) }),
  );
  const over = new Promise<void>((resolve) => {
    worker.subscribe((event) => {
      if (event.type === "init") began = performance.now();
      else if (event.type === "text") events += 1;
      else if (event.type === "hook" && gate) void worker.reply(event.callId, gate(event));
      else if (event.type === "result") resolve();
    });
  });
  const started = await worker.start();
  if (!started.ok) throw new Error(started.message);
  const sent = await worker.send("go", randomUUID());
  if (!sent.ok) throw new Error(sent.message);
  await over;
  finish();
  await worker.stop({ kind: "now", graceMs: 0 });
}

/** The whole product: policy, redaction, machine, chained log. What asks a person is approved at once. */
async function supervisor(): Promise<void> {
  const { supervisorDeps } = await import("../../src/supervisor/index.ts");
  const { LocalSupervisor } = await import("../../src/supervisor/local-supervisor.ts");
  const made = supervisorDeps({
    ...process.env,
    PI_CLAUDE_SUPERVISOR_STATE_DIR: join(folder, "state"),
    PI_CLAUDE_SUPERVISOR_CLAUDE: FAKE,
    PI_CLAUDE_SUPERVISOR_WORKER_ENV: "BENCH_TASK",
  });
  if (!made.ok) throw new Error(made.message);
  const ours = new LocalSupervisor(made.deps);
  const over = new Promise<void>((resolve) => {
    ours.subscribe(({ event }) => {
      const data = event.data as { requestId?: string };
      if (event.type === "worker.init") began = performance.now();
      else if (event.type === "worker.text") events += 1;
      else if (event.type === "gate.verdict" && data.requestId !== undefined)
        void ours.approve(data.requestId, undefined, "dialog");
      else if (event.type === "turn.result") resolve();
    });
  });
  const started = await ours.start({ goal: "go", from: cwd, mode: "manual", verify: ["true"], verifyIn: "workspace" });
  if (!started.ok) throw new Error(started.message);
  await over;
  finish();
  await ours.kill(started.taskId);
  await ours.shutdown(5_000);
}

async function sdk(via: "hook" | "ask"): Promise<void> {
  interface Sdk {
    query(input: { prompt: AsyncIterable<object>; options: object }): AsyncIterable<Message>;
  }
  const { query } = (await import(pathToFileURL(process.env["BENCH_SDK"] ?? "").href)) as Sdk;
  let end: () => void = () => undefined;
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  async function* prompt(): AsyncGenerator<object> {
    yield { type: "user", session_id: "", parent_tool_use_id: null, message: { role: "user", content: "go" } };
    await ended;
  }
  const allow = {
    hookSpecificOutput: { hookEventName: "PreToolUse", permissionDecision: "allow", permissionDecisionReason: "" },
  };
  const options = {
    pathToClaudeCodeExecutable: FAKE,
    cwd,
    env: process.env,
    settingSources: [],
    hooks: via === "hook" ? { PreToolUse: [{ hooks: [async () => allow] }] } : {},
    canUseTool: async (_name: string, input: object) => ({ behavior: "allow", updatedInput: input }),
  };
  for await (const message of query({ prompt: prompt(), options })) {
    if (!count(message)) continue;
    finish();
    end();
  }
}

const READERS: Readonly<Record<string, () => Promise<void>>> = {
  raw: () => bare("scan"),
  readline: () => bare("readline"),
  adapter: () => adapter(),
  gate: async () => adapter(await gateAlone()),
  supervisor,
  "sdk-hook": () => sdk("hook"),
  "sdk-ask": () => sdk("ask"),
};

if (process.argv[1] !== undefined && fileURLToPath(import.meta.url) === process.argv[1]) {
  mkdirSync(cwd, { recursive: true });
  const reader = READERS[process.argv[2] ?? ""];
  if (reader === undefined) throw new Error(`unknown reader: ${process.argv[2]}`);
  await reader();
}
