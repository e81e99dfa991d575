/** Variables: which ones decide what code runs, which are harmless, and with which values. */
import type { Assignment } from "unbash";
import type { Gate } from "./gate.ts";
import { hasMark, UNKNOWN } from "./shell/marks.ts";
import type { ShellState } from "./shell/state.ts";
import type { Walker } from "./shell/walker.ts";

const words = (text: string): ReadonlySet<string> => new Set(text.split(" "));

/** Their value is code, or names code that a later program runs. */
const DECIDES_CODE = words(
  "PATH BASH_ENV ENV PROMPT_COMMAND PS4 PYTHONSTARTUP RUBYOPT JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS PAGER " +
    "MANPAGER LESSOPEN LESSCLOSE EDITOR VISUAL BROWSER DOCKER_HOST DOCKER_CONTEXT CONTAINER_HOST GIT_PAGER GIT_EDITOR " +
    "GIT_SEQUENCE_EDITOR GIT_SSH GIT_SSH_COMMAND GIT_ASKPASS GIT_EXTERNAL_DIFF GIT_PROXY_COMMAND GIT_EXEC_PATH " +
    "GIT_TEMPLATE_DIR GIT_MAN_VIEWER",
);
const DECIDES_CODE_PREFIXES = ["LD_", "DYLD_", "PERL5", "CLAUDE", "ANTHROPIC_", "PI_CLAUDE_SUPERVISOR_", "GIT_CONFIG"];

/** Values that start nothing, for variables that would otherwise name a program. */
const HARMLESS_PROGRAMS = words("cat true : none false /bin/cat /bin/true /usr/bin/cat /usr/bin/true");
const NAMES_A_PROGRAM = words(
  "PAGER MANPAGER EDITOR VISUAL BROWSER GIT_PAGER GIT_EDITOR GIT_SEQUENCE_EDITOR GIT_ASKPASS",
);
/** `ENV` is also a common name for the kind of deployment. */
const DEPLOYMENTS = words("test testing dev development local ci staging prod production");

/** Free with any fixed value: they change how output looks, or only name a mode. */
const HARMLESS = words(
  "LANG LANGUAGE TZ NO_COLOR FORCE_COLOR CLICOLOR CLICOLOR_FORCE COLUMNS LINES TERM COLORTERM CI NODE_ENV RUST_BACKTRACE " +
    "RUST_LOG PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE PYTHONHASHSEED PYTHONIOENCODING PYTHONUTF8 GIT_TERMINAL_PROMPT " +
    "GIT_OPTIONAL_LOCKS GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_AUTHOR_DATE GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL " +
    "GIT_COMMITTER_DATE GIT_MERGE_AUTOEDIT GIT_PAGER_IN_USE GOOS GOARCH CGO_ENABLED GO111MODULE CARGO_TERM_COLOR " +
    "CARGO_INCREMENTAL PORT VERBOSE DEBUG LOG_LEVEL TEST_TIMEOUT VITEST_MAX_THREADS UPDATE_SNAPSHOTS DEBIAN_FRONTEND",
);

/** Ordinary names for a value of the command's own. Others may be obeyed by some program. */
const OWN_NAME_WORDS = words(
  "SHA COMMIT REV REF BASE HEAD BRANCH TAG HASH REVISION FILE FILES DIR FOLDER OUT OUTPUT RESULT COUNT TOTAL NAME VERSION " +
    "MSG MESSAGE TEXT LINE LINES NUM I J N X Y A B F D SRC DST DEST TARGET ROOT START END LEN STATUS RC EXIT CODE PATTERN PKG",
);
const OBEYED_LOWER = words("http_proxy https_proxy ftp_proxy all_proxy no_proxy");

const HARMLESS_NODE_OPTION =
  /^(?:--max-old-space-size=\d+|--max-semi-space-size=\d+|--stack-trace-limit=\d+|--enable-source-maps|--no-warnings|--no-deprecation|--trace-warnings|--trace-deprecation|--trace-uncaught|--throw-deprecation|--unhandled-rejections=\w+|--experimental-vm-modules|--experimental-strip-types|--no-experimental-\w[\w-]*|--pending-deprecation)$/;
const PRELOADING_NODE_OPTION =
  /(?:^|\s)(?:-r|--require|--import|--loader|--experimental-loader|--env-file|--experimental-config-file)(?:[\s=]|$)/;

type Kind = "harmless" | "decides-code" | "unknown";

export function variableKind(name: string, value: string): { kind: Kind; reason: string } {
  const upper = name;
  if (upper.startsWith("LC_") && !hasMark(value)) return { kind: "harmless", reason: "locale" };
  if (NAMES_A_PROGRAM.has(upper) && HARMLESS_PROGRAMS.has(value)) return { kind: "harmless", reason: "starts nothing" };
  if (upper === "ENV" && DEPLOYMENTS.has(value)) return { kind: "harmless", reason: "names a deployment" };
  if (DECIDES_CODE.has(upper) || DECIDES_CODE_PREFIXES.some((prefix) => upper.startsWith(prefix))) {
    return { kind: "decides-code", reason: "It decides what code later programs run." };
  }
  if (upper === "NODE_OPTIONS") return nodeOptions(value);
  if (
    upper === "PYTHONPATH" &&
    /^(?:\.|(?:\.\/)?[\w-][\w.-]*(?:\/[\w-][\w.-]*)*)(?::(?:\.|(?:\.\/)?[\w-][\w./-]*))*$/.test(value) &&
    !value.includes("..")
  ) {
    return { kind: "harmless", reason: "a folder of the workspace" };
  }
  if (HARMLESS.has(upper) && !hasMark(value)) return { kind: "harmless", reason: "changes how output looks" };
  return { kind: "unknown", reason: "It is not known what this variable changes." };
}

function nodeOptions(value: string): { kind: Kind; reason: string } {
  if (PRELOADING_NODE_OPTION.test(value))
    return { kind: "decides-code", reason: "It makes every Node program load code first." };
  const options = value.split(/\s+/).filter((option) => option !== "");
  if (options.every((option) => HARMLESS_NODE_OPTION.test(option)))
    return { kind: "harmless", reason: "a size or a warning switch" };
  return { kind: "unknown", reason: "A Node option that is not known to be harmless." };
}

/** An assignment in front of a command, by `env`, or by `export` and its kin. */
export function judgeAssignment(name: string, value: string, gate: Gate, subject: string): void {
  const { kind, reason } = variableKind(name, value);
  if (kind === "decides-code") gate.report.deny("environment.decides-code", reason, subject);
  else if (kind === "unknown") gate.report.review("environment.unknown", reason, subject);
}

/** A command that is only an assignment: it changes what later parts mean, so it should be used in the same call. */
export function judgeStandaloneAssignment(
  assignment: Assignment,
  value: string,
  state: ShellState,
  walker: Walker,
): void {
  const { name } = assignment;
  const { kind, reason } = variableKind(name, value);
  if (kind === "decides-code") walker.gate.report.deny("environment.decides-code", reason, assignment.text);
  else if (!isOwnName(name))
    walker.gate.report.review("environment.assigned", "It may change what later parts do.", assignment.text);
  else if (state.get(name) === undefined) walker.unused.set(name, assignment.text);
  if (assignment.append === true && state.get(name) === undefined) state.assign(name, { value: UNKNOWN, glob: true });
  else state.assign(name, { value, glob: true });
  walker.gate.report.allow("environment.own", "A variable of the command's own.");
}

/** A loop, `read`, `${x:=y}` or arithmetic sets a variable: fine for names of the command's own. */
export function judgeSetVariable(name: string, value: string, gate: Gate, subject: string): void {
  if (variableKind(name, value).kind === "decides-code" || !isOwnName(name))
    judgeAssignment(name, value, gate, subject);
}

function isOwnName(name: string): boolean {
  if (/^[a-z_][a-z0-9_]*$/.test(name)) return !OBEYED_LOWER.has(name) && !name.startsWith("npm_");
  return /^[A-Z]\d?$/.test(name) || OWN_NAME_WORDS.has(name.slice(name.lastIndexOf("_") + 1).replace(/\d+$/, ""));
}
