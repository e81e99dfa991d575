/** `start`: everything is judged before anything is written; a refusal leaves nothing behind. */
import { accessSync, constants, realpathSync, statSync } from "node:fs";
import { isAbsolute, resolve } from "node:path";
import type { EventMap, StoredEvent } from "../core/events.ts";
import { initialState, type TaskSpec } from "../core/machine/state.ts";
import { goalMessage } from "../core/prompts.ts";
import { type Failure, failure, type Result } from "../core/result.ts";
import { bootId, identify } from "../platform/process/index.ts";
import { judge } from "../policy/index.ts";
import { knownValues } from "../redaction/index.ts";
import type { Config } from "../store/config.ts";
import type { CwdLock, HolderInfo } from "../store/cwd-lock.ts";
import { refuseOverlap } from "../store/layout.ts";
import type { TaskFile } from "../store/task-file.ts";
import { createTask, type OwnedTask } from "../store/task-store.ts";
import { freezeVerification, gitHead, treeId } from "../verifier/index.ts";
import { findClaude, workerEnvironment } from "../worker/index.ts";
import type { StartInput } from "./api.ts";
import { claudePath, configOf, flagsOf, webhookSecrets } from "./config.ts";
import { dayLimits, usedUp } from "./day-budget.ts";
import { createDayLedger } from "./day-ledger.ts";
import type { SupervisorDeps } from "./deps.ts";
import { limitsOf } from "./limits.ts";
import { policyContext } from "./policy-context.ts";
import { diskFacts } from "./policy-facts.ts";
import { repositoryFindings } from "./repository.ts";
import { snapshotOf } from "./snapshot.ts";
import { advance } from "./state-of-log.ts";
import type { StopRoom } from "./stop-room.ts";
import { takeFolder } from "./take-folder.ts";
import { briefOf, taskFileOf, verificationsOf, withTaskFile } from "./task-file-input.ts";
import type { TaskStop } from "./task-stop.ts";
import { makeWorktree } from "./worktree.ts";

export interface Started {
  task: OwnedTask;
  cwdLock: CwdLock;
  stop: TaskStop;
  spec: TaskSpec;
  /** Goal and brief as they were typed. */
  firstMessage: string;
  events: StoredEvent[];
  notices: string[];
}

const MAX_GOAL_CHARS = 100_000;

/** Names the reason of every refusal: `goal-missing`, `cwd`, `cwd-busy`, `verify-…`, `claude-…`, `bad-limit`, … */
export async function startTask(deps: SupervisorDeps, estop: StopRoom, given: StartInput): Promise<Result<Started>> {
  const refused = await estop.refusal();
  if (refused) return refused;
  const file = taskFileOf(given);
  if (!file.ok) return file;
  const input = withTaskFile(given, file.task);
  const loaded = configOf(deps, input.trustedProject, flagsOf(input));
  if (!loaded.ok) return loaded;
  const { settings } = loaded.config;
  const goal = input.goal.trim();
  if (goal === "")
    return failure("goal-missing", 'Say what is to be done: `/supervise start <goal> --verify "<command>"`.');
  if (goal.length > MAX_GOAL_CHARS) {
    return failure(
      "goal-too-long",
      `The goal has ${goal.length} characters, at most ${MAX_GOAL_CHARS} are sent. Put the details into a file of the workspace and name it.`,
    );
  }
  if (settings.automation === "off" && settings.mode === "auto") {
    const whose =
      loaded.config.origins.automation === "project" ? "the project's .pi/supervisor.json" : "supervisor.json";
    return failure(
      "automation-off",
      `Automation is off in ${whose}, so no automatic task can start; use --mode manual, or set automation to on.`,
    );
  }
  const [spentUp] = settings.mode === "auto" ? usedUp(createDayLedger(deps).today(), dayLimits(settings), 1) : [];
  if (spentUp) {
    return failure(
      spentUp.budget,
      `${spentUp.text} No automatic task can start until tomorrow, or until the limit in supervisor.json is raised; --mode manual can.`,
    );
  }
  if (settings.transport === "process-pipe" && input.ungated === undefined) {
    return failure(
      "ungated",
      "The process-pipe transport has no gate: every tool decision would be Claude's own settings'. Say --ungated if that is what you want, or use claude-jsonl.",
    );
  }
  const limits = limitsOf(input, settings);
  if (!limits.ok) return limits;
  const folder = workingFolder(input);
  if (!folder.ok) return folder;
  const taskId = deps.ids.taskId();
  const { config } = loaded;
  if (input.worktree === undefined)
    return startIn(deps, estop, input, config, limits.limits, { taskId, goal, cwd: folder.cwd, file: file.task });
  const made = await makeWorktree(deps.layout, folder.cwd, input.worktree === true ? taskId : input.worktree);
  if (!made.ok) return made;
  const { path, branch, undo } = made.worktree;
  const place = { taskId, goal, cwd: realpathSync(made.worktree.cwd), worktree: { path, branch }, file: file.task };
  const started = await startIn(deps, estop, input, config, limits.limits, place);
  if (!started.ok) await undo();
  return started;
}

interface Place {
  taskId: string;
  goal: string;
  /** Real path. */
  cwd: string;
  worktree?: { path: string; branch: string };
  file: TaskFile;
}

async function startIn(
  deps: SupervisorDeps,
  estop: StopRoom,
  input: StartInput,
  config: Config,
  limits: TaskSpec["limits"],
  { taskId, goal, cwd, worktree, file }: Place,
): Promise<Result<Started>> {
  const { layout, env, ids } = deps;
  const { settings, notes, origins } = config;
  const { mode, transport } = settings;
  const apart = refuseOverlap(layout, cwd);
  if (!apart.ok) return apart;

  const tmpDir = cwd; // only judged here; the worker gets its own
  const environment = workerEnvironment({ host: env, names: settings.workerEnv, tmpDir });
  if (!environment.ok) return environment;
  const known = [
    ...knownValues(
      Object.fromEntries(settings.workerEnv.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]]))),
    ),
    ...webhookSecrets(settings),
  ];
  const redactor = deps.createRedactor({ salt: deps.salt, known });

  const given = verificationsOf(input, file, settings["verify.commands"]);
  const secret = given.find((command) => redactor.hasSecret(command.text));
  if (secret !== undefined) {
    return failure(
      "verify-secret",
      "The verification command holds a secret, which would be stored. Name a variable in it instead, and pass that with PI_CLAUDE_SUPERVISOR_WORKER_ENV.",
    );
  }
  const frozen = await freezeVerification({
    commands: given,
    cwd,
    ...(origins["verify.in"] === "default" ? {} : { where: settings["verify.in"] }),
    ...(settings["verify.setup"] === undefined ? {} : { setup: settings["verify.setup"] }),
    runs: settings["verify.runs"],
    timeoutMs: settings["verify.timeout"],
    carry: settings["verify.carry"],
  });
  if (!frozen.ok) return frozen;
  const judgedBy = {
    profile: settings.profile,
    rules: [...settings["policy.rules"]],
    allowedHosts: [...settings["policy.allowedHosts"]],
  };
  const denied = deniedVerification(deps, { cwd, verify: frozen.spec, ...judgedBy });
  if (denied) return denied;

  const decider = usableDecider(deps, settings);
  if (!decider.ok && input.decisionModel !== undefined) return decider;
  const found = await findClaude({ configured: claudePath(settings), host: env });
  if (!found.ok) return found;
  const startTree = await treeId(cwd, { hostEnv: env, ...scratchOf(deps) });
  const { trust, model, decisionModel } = settings;
  const findings = repositoryFindings(cwd, trust).map((line) => redactor.text(line));
  const storedGoal = redactor.text(goal);
  const brief = briefOf(file);
  const storedBrief = redactor.data(brief);
  const spec: TaskSpec = {
    goal: storedGoal,
    goalRedacted: goalMessage(storedGoal, storedBrief) !== goalMessage(goal, brief),
    ...(Object.keys(brief).length === 0 ? {} : { brief: storedBrief }),
    mode,
    cwd,
    transport,
    trust,
    ...judgedBy,
    verify: frozen.spec,
    limits,
    ...(settings.review ? { review: true } : {}),
    sessionId: ids.uuid(),
    ...(settings.controlId === undefined ? {} : { controlId: settings.controlId }),
    ...(model === undefined ? {} : { model }),
    ...(decisionModel === undefined ? {} : { decisionModel }),
    workerEnvNames: [...settings.workerEnv],
    cgroup: settings.cgroup,
    ...(startTree.ok ? { startTree: startTree.id, startHead: headOf(await gitHead(cwd)) } : {}),
    repositoryFindings: findings,
    ...(input.trustedProject === undefined ? {} : { trustedProject: input.trustedProject }),
    ...(worktree === undefined ? {} : { worktree }),
  };

  const owner = ownerIdentity(deps);
  if (!owner.ok) return owner;
  const holder: HolderInfo = { ...owner.owner, taskId, since: deps.clock.now().toISOString() };
  const locked = await takeFolder(deps, cwd, holder);
  if (!locked.ok) return locked;
  const enrolled = await estop.enroll({ taskId, cwd, controlId: spec.controlId });
  if (!enrolled.ok) {
    locked.lock.release();
    return enrolled;
  }
  const claimed: EventMap["owner.claimed"] = { owner: owner.owner, why: "start" };
  const made = await createTask(
    layout,
    {
      taskId,
      holder,
      events: [
        { type: "task.created", data: spec },
        ...(transport === "process-pipe"
          ? [{ type: "ungated", data: { why: "process-pipe", confirmedBy: input.ungated ?? "flag" } }]
          : []),
        { type: "owner.claimed", data: claimed },
      ],
      record: (events) => snapshotOf(advance(initialState(taskId), events as StoredEvent[]), layout.task(taskId).log),
    },
    { clock: deps.clock, ...(deps.logFs ? { logFs: deps.logFs } : {}) },
  );
  if (!made.ok) {
    await estop.abandon(enrolled.stop);
    locked.lock.release();
    return made;
  }
  const notices = [
    ...notes,
    ...(worktree === undefined
      ? []
      : [`The task works in ${worktree.path}, on the branch ${worktree.branch}; both stay when it is over.`]),
    ...(found.notice === undefined ? [] : [found.notice]),
    ...(decider.ok ? [] : [deciderMissing(decider.message)]),
    ...(startTree.ok ? [] : [`The workspace's tree could not be read (${startTree.message})`]),
    ...(trust === "project" ? findings.map((line) => `Loaded from the repository: ${line}`) : []),
  ];
  return {
    ok: true,
    task: made.task,
    cwdLock: locked,
    stop: enrolled.stop,
    spec,
    firstMessage: goalMessage(goal, brief),
    events: made.events as StoredEvent[],
    notices,
  };
}

/** Whether somebody can decide in an automatic task. Reason: `no-model`. */
function usableDecider({ decisions }: SupervisorDeps, { mode, decisionModel }: Config["settings"]): Result {
  if (mode !== "auto") return { ok: true };
  return decisions?.usable(decisionModel) ?? failure("no-model", "There is no Pi here whose model could decide.");
}

function deciderMissing(why: string): string {
  return `${why} The task runs all the same: every open call waits for you, and each result is verified.`;
}

function headOf(head: Awaited<ReturnType<typeof gitHead>>): { head?: string; branch?: string } {
  if (!head.ok) return {};
  return {
    ...(head.head === undefined ? {} : { head: head.head }),
    ...(head.branch === undefined ? {} : { branch: head.branch }),
  };
}

/** The working folder by its real path. Reason `cwd`. */
function workingFolder(input: StartInput): Result<{ cwd: string }> {
  const given = input.cwd ?? input.from;
  const path = isAbsolute(given) ? given : resolve(input.from, given);
  const bad = (why: string): Failure =>
    failure("cwd", `${path} ${why}. Give an existing folder that you can read with --cwd.`);
  try {
    if (!statSync(path).isDirectory()) return bad("is no folder");
    accessSync(path, constants.R_OK | constants.X_OK);
    return { ok: true, cwd: realpathSync(path) };
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    return bad(
      code === "ENOENT" ? "does not exist" : code === "EACCES" ? "can't be read" : `can't be used (${String(code)})`,
    );
  }
}

/** A verification that the policy denies is refused at the start; every other verdict is the person's own choice. */
function deniedVerification(
  deps: SupervisorDeps,
  spec: Pick<TaskSpec, "cwd" | "profile" | "verify" | "rules" | "allowedHosts">,
): Failure | null {
  const context = { ...policyContext(deps, spec), frozenVerify: [] };
  const facts = diskFacts({
    workspace: spec.cwd,
    home: deps.home,
    stateDir: deps.layout.root,
  });
  const commands = [...spec.verify.commands, ...(spec.verify.setup ? [spec.verify.setup] : [])];
  for (const { text } of commands) {
    const decision = judge({ toolName: "Bash", input: { command: text }, cwd: spec.cwd }, context, facts);
    if (decision.verdict === "deny") {
      return failure(
        "verify-denied",
        `The verification ${JSON.stringify(text.slice(0, 120))} is denied by the policy (${decision.rule}): ${decision.reason} Use another command.`,
      );
    }
  }
  return null;
}

export function ownerIdentity(
  deps: Pick<SupervisorDeps, "host">,
): Result<{ owner: EventMap["owner.claimed"]["owner"] }> {
  const self = identify(process.pid);
  if (!self) return failure("no-identity", `This process can't be found in the process table (boot ${bootId()}).`);
  return { ok: true, owner: { ...self, host: deps.host } };
}

export function scratchOf(deps: Pick<SupervisorDeps, "layout">): { scratchDir?: string } {
  const scratch = deps.layout.folder("scratch");
  return scratch.ok ? { scratchDir: scratch.path } : {};
}
