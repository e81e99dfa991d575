/**
 * Claude itself and other agents. A nested Claude without the supervisor's gate is never allowed; one with a bypass is
 * denied by any name, runner or nesting. Flags and variables: Claude Code 2.1.268.
 */
import { describe, type Invocation, type ProgramTable } from "../invocation.ts";
import type { Flow } from "../shell/flow.ts";
import { isOpen, readable } from "../shell/marks.ts";
import type { Arg } from "../shell/words.ts";

const BYPASS_FLAGS = ["--dangerously-skip-permissions", "--allow-dangerously-skip-permissions"];
const BYPASS_MODE = "bypasspermissions";
/** Subcommands and flags that start a Claude which outlives the call or takes orders from elsewhere. */
const OWN_LIFE = new Set(["daemon", "remote-control", "--bg", "--remote-control"]);
const SANDBOX_VARIABLES = ["IS_SANDBOX", "CLAUDE_CODE_BUBBLEWRAP"];

export function judgeClaude(call: Invocation): Flow | undefined {
  const { gate, args } = call;
  if (args.length === 1 && /^(?:--version|-v|--help|-h)$/.test(args[0]?.value ?? "")) {
    gate.report.allow("claude.version", "It prints a version or a help text.");
    return undefined;
  }
  const subject = readable(describe(call));
  gate.report.review("claude.nested", "A second Claude would work outside this gate.", subject);
  if (hasBypass(args)) gate.report.deny("claude.bypass", "It would start Claude without its permission gate.", subject);
  const [first] = args.filter((arg) => !arg.value.startsWith("-"));
  if (OWN_LIFE.has(first?.value ?? "") || args.some((arg) => OWN_LIFE.has(arg.value) && arg.value.startsWith("--"))) {
    gate.report.deny("claude.own-life", "It would start a Claude that nobody supervises.", subject);
  }
  for (const name of SANDBOX_VARIABLES) {
    if (call.assigned.includes(name) || call.state.get(name) !== undefined) {
      gate.report.deny("claude.sandbox-variable", "The variable makes Claude drop its permission checks.", subject);
    }
  }
  if (call.stdin?.text !== undefined && hasBypassText(call.stdin.text) && isOpen(subject)) return undefined;
  return undefined;
}

function hasBypass(args: readonly Arg[]): boolean {
  return args.some((arg, index) => {
    const text = arg.value;
    if (BYPASS_FLAGS.some((flag) => text === flag || text.startsWith(`${flag}=`))) return true;
    const lower = text.toLowerCase();
    if (lower.includes(BYPASS_MODE)) {
      if (lower.startsWith("--permission-mode=") || lower.startsWith("--settings=")) return true;
      const before = args[index - 1]?.value;
      return (
        before === "--permission-mode" ||
        before === "--settings" ||
        before === "--managed-settings" ||
        lower.startsWith("--managed-settings=")
      );
    }
    return false;
  });
}

/** Any program: `claude` among its words, followed by a bypass; or one word that holds such a command. */
export function judgeClaudeWords(call: Invocation): void {
  const { gate, args } = call;
  for (const [index, arg] of args.entries()) {
    if (isClaudeName(arg.value)) {
      const rest = args.slice(index + 1);
      if (hasBypass(rest))
        gate.report.deny(
          "claude.bypass",
          "It would start Claude without its permission gate.",
          readable(describe(call)),
        );
      if (OWN_LIFE.has(rest[0]?.value ?? ""))
        gate.report.deny(
          "claude.own-life",
          "It would start a Claude that nobody supervises.",
          readable(describe(call)),
        );
      return;
    }
    if (arg.value.includes(" ") && hasBypassText(arg.value)) {
      gate.report.deny(
        "claude.bypass",
        "Its text starts Claude without its permission gate.",
        readable(describe(call)),
      );
      return;
    }
  }
}

/** `claude`, a path to it, or its package. */
export function isClaudeName(word: string): boolean {
  return (
    /(?:^|\/)claude(?:-code)?(?:\.exe|\.cmd)?$/.test(word) ||
    /(?:^|\/)@anthropic-ai\/claude-code(?:@[\w.^~-]+)?(?:\/cli\.m?js)?$/.test(word) ||
    /(?:^|\/)claude(?:-code)?\/(?:cli\.m?js|versions\/[\w.-]+)$/.test(word)
  );
}

/** Whether text that something would run holds a Claude with a bypass. Linear in the text. */
export function hasBypassText(text: string): boolean {
  const lower = text.toLowerCase();
  if (!lower.includes("claude")) return false;
  return BYPASS_FLAGS.some((flag) => lower.includes(flag)) || lower.includes(BYPASS_MODE);
}

/** Other agents that work without their gate; the flags are those of their 2026 versions. */
const UNGATED: Readonly<Record<string, readonly string[]>> = {
  codex: ["--dangerously-bypass-approvals-and-sandbox", "--yolo", "--full-auto"],
  gemini: ["--yolo", "-y", "--approval-mode=yolo", "--approval-mode"],
  aider: ["--yes-always", "--yes"],
  "cursor-agent": ["--force", "-f", "--yolo"],
  opencode: ["--dangerously-skip-permissions", "--yolo"],
  amp: ["--dangerously-allow-all"],
  goose: [],
  copilot: ["--allow-all-tools", "--allow-all", "--yolo"],
  qwen: ["--yolo", "-y"],
  crush: ["--yolo", "-y"],
  auggie: [],
  droid: ["--skip-permissions-unsafe", "--auto"],
};

function otherAgent(call: Invocation): undefined {
  const ungated = UNGATED[call.name] ?? [];
  const subject = readable(describe(call));
  if (call.args.some((arg) => ungated.includes(arg.value))) {
    call.gate.report.person("agents.ungated", "Another agent would work without any gate.", subject);
  } else call.gate.report.review("agents.other", "Another agent would work outside this gate.", subject);
  return undefined;
}

function piHost(call: Invocation): undefined {
  const subject = readable(describe(call));
  if (
    call.args.some((arg) => /(?:^|\s)\/supervise\b/.test(arg.value)) ||
    (call.stdin?.text ?? "").includes("/supervise")
  ) {
    call.gate.report.deny("supervisor.commands", "The worker must not steer its own supervisor.", subject);
  } else call.gate.report.review("agents.other", "Another agent would work outside this gate.", subject);
  return undefined;
}

function controlCli(call: Invocation): undefined {
  call.gate.report.deny(
    "supervisor.control",
    "The supervisor's control program is not for the worker.",
    readable(describe(call)),
  );
  return undefined;
}

export const AGENTS: ProgramTable = {
  claude: { reason: "Claude itself", judge: judgeClaude },
  "claude-code": { reason: "Claude itself by its package's name", judge: judgeClaude },
  pi: { reason: "the host that the supervisor lives in", judge: piHost },
  "pi-claude-supervisor-control": { reason: "steers the supervisor", judge: controlCli },
  ...Object.fromEntries(Object.keys(UNGATED).map((name) => [name, { reason: "another agent", judge: otherAgent }])),
};
