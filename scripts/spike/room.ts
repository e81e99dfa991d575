/**
 * Where a spike runs: a temporary folder, one program, one fixed prompt, and a gate that lets through one command and
 * denies everything else. The same for a Claude that is logged in and for one with a scripted model.
 */
import { randomBytes } from "node:crypto";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, join } from "node:path";
import type { ExecutableFacts, WorkerEvent, WorkerStartInput } from "../../src/core/contracts/worker.ts";
import { createRedactor } from "../../src/redaction/index.ts";
import { findClaude, parseEnvNames } from "../../src/worker/index.ts";
import { claudeBinary, claudeEnv, workerEnvNames } from "../../test/support/claude.ts";
import { bash, type Reply, text, toolUse } from "../../test/support/model-reply.ts";
import { startModelServer } from "../../test/support/model-server.ts";
import { modelsJson } from "../../test/support/pi-setup.ts";
import { killMarked, MARK_NAME } from "../../test/support/processes.ts";
import { createLab, type Lab } from "../../test/support/workspace.ts";
import { type Driven, drive, type Hook } from "../../test/worker/driver.ts";
import { Refusal, type SpikeOptions } from "./options.ts";

/** What the worker is asked to run; the workspace decides what it does. */
export const COMMAND = "sh spike.sh";
/** The one prompt of all spikes. */
export const PROMPT = `Run exactly this command with your Bash tool, once, in the foreground: ${COMMAND}\nThen answer with the single word done. Do nothing else.`;

/** The second prompt, of the automation spike alone, and the question that it leads to. */
export const QUESTION_GOAL =
  "Ask me with your AskUserQuestion tool, once, whether to use red or blue. Then answer with the single word done. Do nothing else.";
export const LABELS = ["red", "blue"] as const;
const QUESTION = {
  questions: [
    {
      question: "Which color?",
      header: "Color",
      multiSelect: false,
      options: LABELS.map((label) => ({ label, description: label })),
    },
  ],
};

export interface Room {
  readonly mode: "authenticated" | "scripted";
  readonly lab: Lab;
  readonly executable: ExecutableFacts;
  /** Values that may stand in no output: what was planted, and the credentials that were passed on by name. */
  readonly secrets: readonly string[];
  readonly planted: string;
  /** How often the model was asked in the main loop; `null` where the model is not ours. */
  modelRequests(): number | null;
  workspace(script: string): Promise<string>;
  /** A worker in `cwd`, not started. Hooks that `isOurs` refuses are denied at once. */
  worker(cwd: string, options?: WorkerOptions): Promise<Driven>;
  /** The environment of a supervisor that drives this Claude, its state folder included. */
  supervisorEnv(): Record<string, string>;
  /** Folder with Pi's models and logins: the person's own (undefined), or one that knows the scripted model alone. */
  readonly piAgentDir: string | undefined;
  /** Has Claude written the prompt of this session down? 2.1.268 writes its record a moment after the work began. */
  sessionTold(cwd: string, sessionId: string): Promise<boolean>;
  /** Ends what is left and removes the folder and Claude's own record of its sessions. */
  close(): Promise<{ processes: number; sessionFiles: number }>;
}

export interface WorkerOptions {
  input?: Partial<WorkerStartInput>;
  /** Answers the one command at once; default: it stays held. */
  decide?: (hook: Hook) => "allow" | "deny" | undefined;
  onEvent?: (event: WorkerEvent) => void;
}

/** Is this the one call that the prompt asks for? Everything else is denied. */
export function isOurs(hook: Pick<Hook, "toolName" | "input">): boolean {
  const { command, run_in_background: background } = (hook.input ?? {}) as Record<string, unknown>;
  return hook.toolName === "Bash" && command === COMMAND && background !== true;
}

/** Throws a `Refusal` when there is no Claude to run. */
export async function openRoom(options: SpikeOptions): Promise<Room> {
  const found = await findClaude({
    configured: options.scripted ? claudeBinary() : process.env["PI_CLAUDE_SUPERVISOR_CLAUDE"],
    host: process.env,
  });
  if (!found.ok) throw new Refusal(found.message);
  const { executable } = found;
  const lab = await createLab();
  const planted = `ghp_${randomBytes(40).toString("base64").replace(/[+/=]/g, "").slice(0, 36)}`;
  const outside = options.scripted ? await scripted(lab) : authenticated(lab);
  const secrets = [planted, ...outside.secrets];
  const redactor = createRedactor({ salt: randomBytes(32).toString("hex"), known: secrets });
  const cwds: string[] = [];

  return {
    mode: options.scripted ? "scripted" : "authenticated",
    lab,
    executable,
    secrets,
    planted,
    modelRequests: outside.modelRequests,
    async workspace(script) {
      const cwd = await lab.repo({ "spike.sh": script, "planted.txt": `${planted}\n` });
      cwds.push(cwd);
      return cwd;
    },
    async worker(cwd, { input, decide, onEvent } = {}) {
      const driven = await drive({
        lab,
        cwd,
        executable,
        deps: { redactor },
        ...outside.drive,
        input: { ...outside.input, ...input },
        onHook: (hook) => {
          if (!isOurs(hook)) return { decision: "deny", reason: "Only the one command of this spike may run." };
          const decision = decide?.(hook);
          return decision === undefined ? undefined : { decision, reason: "The spike decided so." };
        },
      });
      if (onEvent) driven.worker.subscribe(onEvent);
      return driven;
    },
    supervisorEnv: () => ({
      ...outside.env,
      PI_CLAUDE_SUPERVISOR_STATE_DIR: lab.stateDir,
      PI_CLAUDE_SUPERVISOR_CLAUDE: executable.path,
    }),
    piAgentDir: outside.piAgentDir,
    async sessionTold(cwd, sessionId) {
      const record = join(outside.projects, projectName(cwd), `${sessionId}.jsonl`);
      return (await readFile(record, "utf8").catch(() => "")).includes(COMMAND);
    },
    async close() {
      // Claude keeps each session under its configuration folder: the records of these workspaces go with them.
      const sessionFiles = options.scripted ? 0 : await removeSessions(outside.projects, cwds, basename(lab.root));
      const marked = await killMarked(lab.mark);
      await lab.cleanup();
      return { processes: marked.length, sessionFiles };
    },
  };
}

interface Outside {
  /** Of the whole process that a supervisor would run in. */
  env: Record<string, string>;
  piAgentDir: string | undefined;
  drive: { env: Readonly<Record<string, string>> } | { hostEnv: Readonly<Record<string, string>> };
  input: Partial<WorkerStartInput>;
  secrets: readonly string[];
  /** Where its Claude keeps the sessions of each project. */
  projects: string;
  modelRequests(): number | null;
}

/** Its own HOME, a dummy key, loopback. The model calls the command first and then says the word. */
async function scripted(lab: Lab): Promise<Outside> {
  const server = await startModelServer();
  lab.defer(() => server.close());
  server.script("main", (request) => {
    if (request.newToolResults().length > 0) return text("done");
    const asks = request.userTexts().some((said) => said.includes(QUESTION_GOAL));
    return asks ? toolUse("AskUserQuestion", QUESTION) : bash(COMMAND);
  });
  server.script("decider", (request) => decided(request.lastUserText()));
  const env = claudeEnv(lab, server.url);
  const piAgentDir = join(lab.home, ".pi", "agent");
  await mkdir(piAgentDir, { recursive: true });
  await writeFile(join(piAgentDir, "models.json"), modelsJson(server.url));
  return {
    env: { ...lab.env, ...env, PI_CLAUDE_SUPERVISOR_WORKER_ENV: workerEnvNames() },
    piAgentDir,
    drive: { env },
    projects: projectsOf(env, lab.home),
    input: {},
    secrets: [lab.apiKey],
    modelRequests: () => server.of("main").length,
  };
}

/** The person's own environment, of which the adapter passes on its minimal set and the names that they have listed. */
function authenticated(lab: Lab): Outside {
  const names = parseEnvNames(process.env["PI_CLAUDE_SUPERVISOR_WORKER_ENV"]);
  const values = names.map((name) => process.env[name] ?? "");
  return {
    env: {
      ...definedOf(process.env),
      [MARK_NAME]: lab.mark,
      PI_CLAUDE_SUPERVISOR_WORKER_ENV: [...names, MARK_NAME].join(","),
    },
    piAgentDir: undefined,
    drive: { hostEnv: { ...definedOf(process.env), [MARK_NAME]: lab.mark } },
    input: { workerEnvNames: [...names, MARK_NAME] },
    // Short values (a region, a flag) are no secrets, and would be found everywhere.
    secrets: values.filter((value) => value.length >= 16),
    projects: projectsOf(process.env, homedir()),
    modelRequests: () => null,
  };
}

/** What the scripted decider says: yes to a call, the first label to a question, and at a turn's end the verification. */
function decided(said: string): Reply {
  const decide = (decision: string, more: object = {}): Reply =>
    toolUse("decide", { decision, reason: "The spike's script says so.", ...more });
  if (said.startsWith("kind: tool\n")) return decide("approve");
  if (said.startsWith("kind: question\n")) return decide("answer", { answers: { "1": LABELS[0] }, category: "detail" });
  return decide(said.startsWith("kind: turn-end\n") ? "verify" : "escalate");
}

function projectsOf(env: Readonly<Record<string, string | undefined>>, home: string): string {
  return join(env["CLAUDE_CONFIG_DIR"] ?? join(home, ".claude"), "projects");
}

/** A project's folder is named after its real path: every other character than letters and digits is a dash (2.1.268). */
function projectName(cwd: string): string {
  return cwd.replace(/[^a-zA-Z0-9]/g, "-");
}

function definedOf(env: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}

/**
 * Removes the session folders of these workspaces. `unique` is the random name of the temporary folder: nothing without it is touched.
 */
async function removeSessions(projects: string, cwds: readonly string[], unique: string): Promise<number> {
  let removed = 0;
  for (const cwd of cwds) {
    const name = projectName(cwd);
    if (!name.includes(projectName(unique))) continue;
    const folder = join(projects, name);
    removed += await readdir(folder).then(
      (files) => files.length,
      () => 0,
    );
    await rm(folder, { recursive: true, force: true });
  }
  return removed;
}
