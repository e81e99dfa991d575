/** The table of all commands: written rightly, for an id that nobody knows, and while an emergency stop is in force. */
import type { CommandName } from "../../src/extension/parse/spec.ts";
import { requestView } from "./support/fake-supervisor.ts";

export const GOOD: [input: string, fields: Record<string, unknown>][] = [
  [
    'start Fix it --verify "npm test"',
    { command: "start", taskId: "t-1", cwd: "/home/me/here", stopCommand: "/supervise stop t-1" },
  ],
  [
    "status t-1",
    {
      command: "status",
      taskId: "t-1",
      state: "running",
      waitsFor: null,
      claudeSessionId: "11111111-1111-4111-8111-111111111111",
      goal: "Fix the parser",
    },
  ],
  ["status", { command: "status", taskId: "t-1" }],
  ["sessions", { command: "sessions" }],
  ["sessions --all", { command: "sessions" }],
  ["send t-1 hello", { command: "send", taskId: "t-1", queued: false }],
  ["approvals", { command: "approvals", requests: [requestView()] }],
  ["approve r-1 --note fine", { command: "approve", requestId: "r-1", taskId: "t-1" }],
  ["deny r-1 no", { command: "deny", requestId: "r-1", taskId: "t-1" }],
  ["answer r-1 Blue", { command: "answer", requestId: "r-1", taskId: "t-1" }],
  ["verify t-1", { command: "verify", outcome: "pass", state: "completed" }],
  ["stop t-1 enough", { command: "stop", state: "stopped" }],
  ["discard t-1", { command: "discard", taskId: "t-1" }],
  ["discard t-1 --yes", { command: "discard", taskId: "t-1" }],
  ["pause t-1 lunch", { command: "pause", taskId: "t-1", state: "paused" }],
  ["resume t-1 --fault x", { command: "resume", taskId: "t-1", state: "running" }],
  ["recover t-1 --fresh", { command: "recover", taskId: "t-1", state: "running" }],
  [
    "takeover t-1",
    {
      command: "takeover",
      taskId: "t-1",
      state: "taken_over",
      resumeCommand: "cd /home/me/here && claude --resume=t-1-session",
    },
  ],
  ["handback t-1 I was here", { command: "handback", taskId: "t-1", state: "running", turns: 2 }],
  ["kill t-1", { command: "kill", state: "stopped" }],
  ["log t-1", { command: "log", taskId: "t-1", lastSeq: 1 }],
  ["log t-1 --verify", { command: "log", records: 7 }],
  ["replay t-1", { command: "replay", state: "completed", matches: true }],
  ["report t-1", { command: "report", taskId: "t-1" }],
  ["report --all", { command: "report", tasks: 1, costUsd: 0.12 }],
  ['policy check "git push"', { command: "policy", verdict: "person", rule: "bash.git.push" }],
  ["policy show", { command: "policy", profile: "standard" }],
  ["doctor", { command: "doctor", healthy: true, errors: 0, warnings: 1 }],
  ["estop status", { command: "estop", scope: "--all", inForce: false, epoch: 0 }],
  ["help", { command: "help" }],
  ["help start", { command: "help", topic: "start" }],
];

/** Every command that names a task or a request. */
export const UNKNOWN = [
  ...[
    "status",
    "verify",
    "stop",
    "kill",
    "pause",
    "resume",
    "recover",
    "takeover",
    "handback",
    "discard",
    "log",
    "replay",
    "report",
  ].map((name) => `${name} t-9`),
  "send t-9 hello",
  "approve r-9",
  "deny r-9",
  "answer r-9 Blue",
];

/**
 * What each command does while an emergency stop is in force, in a store without tasks: `estop` where something could
 * begin or be released, `no-task` where it looks for what is not there, null where it works as ever.
 */
export const IN_FORCE: Record<CommandName, [words: string, reason: "estop" | "no-task" | "terminal-only" | null][]> = {
  start: [['start Fix it --verify "true"', "estop"]],
  send: [["send t-9 hello", "estop"]],
  verify: [["verify t-9", "estop"]],
  approve: [["approve r-9", "estop"]],
  deny: [["deny r-9 no", "estop"]],
  answer: [["answer r-9 Blue", "estop"]],
  recover: [["recover t-9", "estop"]],
  resume: [["resume t-9", "estop"]],
  takeover: [["takeover t-9", "estop"]],
  handback: [["handback t-9", "estop"]],
  stop: [["stop t-9", "no-task"]],
  kill: [["kill t-9", "no-task"]],
  pause: [["pause t-9", "no-task"]],
  discard: [["discard t-9", "no-task"]],
  status: [["status t-9", "no-task"]],
  log: [["log t-9", "no-task"]],
  replay: [["replay t-9", "no-task"]],
  report: [
    ["report t-9", "no-task"],
    ["report --all", null],
  ],
  sessions: [["sessions --all", null]],
  approvals: [["approvals", null]],
  policy: [
    ['policy check "ls"', null],
    ["policy show", null],
  ],
  doctor: [["doctor", null]],
  help: [["help", null]],
  estop: [
    ["estop status", null],
    ["estop resume", "terminal-only"],
  ],
};
