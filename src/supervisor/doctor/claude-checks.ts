/** Claude itself: the program, its login by kind, and a trial start that proves gate and containment. */
import { lstatSync, readFileSync, statSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import type { ContainmentRecord, ExecutableFacts } from "../../core/contracts/worker.ts";
import { createIds } from "../../platform/ids.ts";
import { createRedactor } from "../../redaction/index.ts";
import type { Settings } from "../../store/config.ts";
import { createWorker, findClaude, OLDEST_CLAUDE, systemDeps } from "../../worker/index.ts";
import { claudePath } from "../config.ts";
import { type Finding, fault, faultOf, ok, warning } from "./finding.ts";
import type { DoctorHost } from "./host.ts";

const VERSION_MS = 4_000;
const TRIAL_MS = 8_000;
const MAX_SETTINGS_BYTES = 1024 * 1024;

/** Variables by which Claude Code 2.1.268 takes a login. Only their names are looked at. */
const LOGIN_VARIABLES = [
  "ANTHROPIC_API_KEY",
  "ANTHROPIC_AUTH_TOKEN",
  "CLAUDE_CODE_OAUTH_TOKEN",
  "CLAUDE_CODE_USE_BEDROCK",
  "CLAUDE_CODE_USE_VERTEX",
  "CLAUDE_CODE_USE_FOUNDRY",
];

export async function claudeCheck(
  host: DoctorHost,
  settings: Settings,
): Promise<{ finding: Finding; executable?: ExecutableFacts }> {
  const found = await findClaude({ configured: claudePath(settings), host: host.env, versionTimeoutMs: VERSION_MS });
  if (!found.ok) return { finding: claudeFault(found.message) };
  const { executable, notice } = found;
  const { path, version } = executable;
  const finding =
    notice === undefined
      ? ok("claude", `Claude Code ${version}, ${path}.`)
      : warning("claude", `Claude Code ${version}, ${path}. ${notice}`, `Nothing, or use ${OLDEST_CLAUDE}.`);
  return { finding, executable };
}

/** What `findClaude` refuses, parted into what is wrong and what to do. */
export function claudeFault(message: string): Finding {
  const parts = /^(.*?)\. (To go on, .*|Install .*|Change .*|Update .*|Set .*|Reinstall .*|Check .*)$/s.exec(message);
  return parts ? fault("claude", `${parts[1]}.`, parts[2] ?? "") : faultOf("claude", message);
}

/** Kinds and presence only: no login is read, and none is tried. */
export function loginCheck(host: Pick<DoctorHost, "env" | "platform">, settings: Settings): Finding {
  const { env } = host;
  const passed = new Set(settings.workerEnv);
  const set = LOGIN_VARIABLES.filter((name) => (env[name] ?? "") !== "");
  const reach = set.filter((name) => passed.has(name));
  const listed = env["CLAUDE_CONFIG_DIR"] !== undefined && passed.has("CLAUDE_CONFIG_DIR");
  const folder = listed ? String(env["CLAUDE_CONFIG_DIR"]) : join(env["HOME"] ?? homedir(), ".claude");
  const kinds = [
    ...reach.map((name) => `the variable ${name}`),
    ...(isFile(join(folder, ".credentials.json")) ? ["a Claude account (its login file is there)"] : []),
    ...(settings.trust === "none" ? [] : fromSettings(join(folder, "settings.json"))),
  ];
  if (kinds.length > 0) return ok("login", `Claude's login is ${kinds.join(" and ")}.`);
  const missed = set.filter((name) => !passed.has(name));
  if (missed.length > 0) {
    const names = [...settings.workerEnv, ...missed].join(",");
    return fault(
      "login",
      `${missed.join(", ")} ${missed.length === 1 ? "is" : "are"} set for Pi, but does not reach the worker.`,
      `Set PI_CLAUDE_SUPERVISOR_WORKER_ENV=${names} before you start Pi.`,
    );
  }
  if (host.platform === "darwin") {
    return warning(
      "login",
      "No login is visible; one in the keychain can't be seen from here.",
      "Run `claude` once and type /login, if you have not yet.",
    );
  }
  return fault(
    "login",
    "No login for Claude was found.",
    "Run `claude` once and type /login; or set a key and name its variable in PI_CLAUDE_SUPERVISOR_WORKER_ENV.",
  );
}

/** Whether the person's own settings bring a login. Names only; nothing of the file is kept. */
function fromSettings(file: string): string[] {
  try {
    if (statSync(file).size > MAX_SETTINGS_BYTES) return [];
    const settings = JSON.parse(readFileSync(file, "utf8")) as { apiKeyHelper?: unknown; env?: object };
    const names = LOGIN_VARIABLES.filter((name) => Object.hasOwn(settings.env ?? {}, name));
    return [
      ...(typeof settings.apiKeyHelper === "string" ? ["an apiKeyHelper of your Claude settings"] : []),
      ...names.map((name) => `${name} of your Claude settings`),
    ];
  } catch {
    return []; // no such file, or one that Claude itself would refuse
  }
}

function isFile(path: string): boolean {
  try {
    return lstatSync(path).isFile();
  } catch {
    return false;
  }
}

/**
 * Starts Claude as a worker is started, up to the handshake, and ends it: nothing is sent to a model. It proves what no
 * version number can: that the gate is confirmed and that the process can be contained and ended.
 */
export async function trialCheck(host: DoctorHost, settings: Settings, executable: ExecutableFacts): Promise<Finding> {
  const folder = await mkdtemp(join(tmpdir(), "pi-claude-doctor-"));
  const workerTmp = await mkdtemp(join(tmpdir(), "pi-claude-worker-"));
  const ids = createIds();
  const worker = createWorker(
    "claude-jsonl",
    {
      taskId: ids.taskId(),
      workerId: ids.workerId(),
      executable,
      cwd: host.cwd,
      sessionId: ids.uuid(),
      resume: false,
      trust: settings.trust === "project" ? "user" : settings.trust,
      workerEnvNames: settings.workerEnv,
      tmpDir: workerTmp,
      cgroup: settings.cgroup,
      startupTimeoutMs: TRIAL_MS,
      artifactDir: folder,
    },
    systemDeps({ redactor: createRedactor({ salt: ids.uuid() }), hostEnv: host.env }),
  );
  let containment: ContainmentRecord | undefined;
  worker.subscribe((event) => {
    if (event.type === "spawned") ({ containment } = event);
  });
  const started = await worker.start();
  const ended = await worker.stop({ kind: "graceful", graceMs: 1_000 });
  await Promise.all([folder, workerTmp].map((path) => rm(path, { recursive: true, force: true })));
  if (!started.ok) {
    const fix = `Run ${executable.path} in a terminal and mend what it says; docs/troubleshooting.md explains the code ${started.reason}.`;
    return fault("gate", `A trial start failed: ${started.message}`, fix);
  }
  if (!ended.proven) {
    const left = ended.remaining.map((one) => `${one.kind} ${one.id}`).join(", ");
    return fault(
      "gate",
      `The trial worker could not be proven gone: ${left}.`,
      "End it by hand, then look at docs/containment.md.",
    );
  }
  const guarded = containment?.guardian === undefined ? "without a guardian" : "watched by a guardian";
  return ok(
    "gate",
    `A trial start passed: Claude confirmed the gate, contained by ${containment?.kind ?? "nothing"}, ${guarded}, and was ended with proof.`,
  );
}
