/** npm, pnpm, yarn and bun: package scripts are unwrapped, their pre and post scripts with them, and judged like any command. */
import { describe, type Invocation, type ProgramTable } from "../invocation.ts";
import { judgePath } from "../paths/access.ts";
import { join, normalise } from "../paths/text.ts";
import { program } from "../programs/reader.ts";
import { asRunner, judgeRunnerWords } from "../programs/runner.ts";
import { runText } from "../programs/shells.ts";
import { sweepPaths } from "../programs/sweep.ts";
import { type Flow, NOTHING_KNOWN } from "../shell/flow.ts";
import { hasMark, readable } from "../shell/marks.ts";
import type { Arg } from "../shell/words.ts";
import { judgeLocalTool } from "./local.ts";
import { runMany, runScript } from "./scripts.ts";

export const PACKAGE_MANAGERS: ProgramTable = {
  npm: program("runs package scripts, installs, publishes", judgeManager),
  pnpm: program("runs package scripts, installs, publishes", judgeManager),
  yarn: program("runs package scripts, installs, publishes", judgeManager),
  bun: program("runs package scripts, installs, publishes", judgeManager),
  npx: program("runs a package's program", judgeNpx),
  bunx: program("runs a package's program", judgeNpx),
  pnpx: program("runs a package's program", judgeNpx),
  "run-s": program("runs package scripts in turn", runMany),
  "run-p": program("runs package scripts side by side", runMany),
  "npm-run-all": program("runs package scripts", runMany),
  "npm-run-all2": program("runs package scripts", runMany),
  corepack: program("runs or installs a package manager", corepack),
};

const RUN_VERBS = new Set(["run", "run-script", "rum", "urn"]);
const SCRIPT_VERBS = new Set(["test", "t", "tst", "start", "stop", "restart"]);
const INSTALL_VERBS = new Set(
  "install i in ins inst isntall add ci clean-install install-test it update up upgrade upgrade-interactive uninstall un remove rm r unlink link ln dedupe ddp prune rebuild rb audit import fetch patch patch-commit dlx create init exec-install cache set-script pkg shrinkwrap approve-builds".split(
    " ",
  ),
);
const PUBLISH_VERBS = new Set(
  "publish unpublish deprecate undeprecate dist-tag dist-tags owner author access adduser login logout token team org hook star unstar profile trust stage changeset npm".split(
    " ",
  ),
);
/** They only read what is installed or written in the project. */
const READING_VERBS = new Set("ls list la ll why explain version -v --version help root prefix bin query".split(" "));
const ASKING_VERBS = new Set(
  "outdated view v info show search ping whoami doctor config c get set fund docs repo bugs sbom diff".split(" "),
);

/** Options of the manager itself that change nothing about what runs. */
const FREE_OPTIONS =
  /^(?:-s|--silent|-q|--quiet|-d|-dd|-ddd|--verbose|--if-present|--no-color|--color(?:=.*)?|--loglevel(?:=.*)?|--json|--no-audit|--no-fund|--no-update-notifier|--prefer-offline|--offline|--ignore-scripts|--foreground-scripts|--no-progress|--stream|--bail|--no-bail|--reporter(?:=.*)?|--long|-l|--all|-a|--depth(?:=\d+)?|--production|--omit(?:=.*)?|--parseable|-p|--stack-trace|--workspace-root|-ws?=false)$/;

function judgeManager(call: Invocation): Flow {
  const { gate, args } = call;
  const { report } = gate;
  if (args.length === 1 && /^(?:-v|--version|-h|--help)$/.test(args[0]?.value ?? "")) {
    report.allow("package.version", "It prints a version.");
    return NOTHING_KNOWN;
  }
  const start = readOwnOptions(call, args);
  const call_ = { ...call, args: start.rest };
  const [verb, ...rest] = start.rest;
  const folder = start.folder;
  if (verb === undefined || !INSTALL_VERBS.has(verb.value)) {
    for (const arg of start.odd) {
      report.review("options.unknown", `This option of ${call.name} is not known to be harmless.`, readable(arg.value));
    }
  }
  if (verb === undefined) {
    if (call.name === "yarn" || call.name === "pnpm") return installs(call);
    report.allow("package.help", "It prints a help text.");
    return NOTHING_KNOWN;
  }
  if (hasMark(verb.value) || verb.glob) {
    report.review("package.dynamic", "An expansion decides what is run.", readable(describe(call)));
    return NOTHING_KNOWN;
  }
  const name = verb.value;
  if (call.name === "bun" && (name === "test" || name === "build"))
    return runner(call_, rest, "Bun's own test runner or bundler.");
  if (RUN_VERBS.has(name)) return runVerb(call_, rest, folder);
  if (SCRIPT_VERBS.has(name)) return runScript(call, name === "t" || name === "tst" ? "test" : name, rest, folder);
  if (name === "exec" || (name === "x" && (call.name === "bun" || call.name === "npm")))
    return judgeNpx({ ...call, args: rest });
  if (name === "dlx" || name === "create" || (name === "init" && rest.some((arg) => !arg.value.startsWith("-"))))
    return installs(call);
  if (PUBLISH_VERBS.has(name)) {
    report.person("outward.publish", "It changes something at a package registry.", readable(describe(call)));
    sweepPaths(call, rest);
    return NOTHING_KNOWN;
  }
  if (name === "pack") {
    if (rest.some((arg) => arg.value === "--dry-run")) return reads(call_);
    report.review("package.pack", "It writes an archive and runs scripts.", readable(describe(call)));
    return NOTHING_KNOWN;
  }
  if (name === "version" && rest.length > 0) {
    report.review("package.version", "It changes the version, commits and tags.", readable(describe(call)));
    return NOTHING_KNOWN;
  }
  if (READING_VERBS.has(name)) return reads(call_);
  if (INSTALL_VERBS.has(name)) return installs(call);
  if (ASKING_VERBS.has(name)) {
    report.review("package.asks", "It asks a registry or shows settings.", readable(describe(call)));
    sweepPaths(call, rest);
    return NOTHING_KNOWN;
  }
  // yarn, pnpm and bun run a script or a local program by its bare name.
  if (call.name !== "npm") return runBare(call, verb, rest, folder);
  report.review("package.unknown-verb", "The gate does not know this verb.", readable(describe(call)));
  sweepPaths(call, rest);
  return NOTHING_KNOWN;
}

function reads(call: Invocation): Flow {
  sweepPaths(call, call.args);
  call.gate.report.allow("package.reads", "It reads what is installed.");
  return NOTHING_KNOWN;
}

function runner(call: Invocation, rest: readonly Arg[], what: string): Flow {
  judgeRunnerWords(call, rest);
  asRunner(call, what);
  return NOTHING_KNOWN;
}

/** Options before the verb; `--prefix DIR`, `-C DIR` and `--dir DIR` move to another package. */
function readOwnOptions(
  call: Invocation,
  args: readonly Arg[],
): { rest: Arg[]; folder: string | undefined; odd: Arg[] } {
  const { report } = call.gate;
  const rest: Arg[] = [];
  const odd: Arg[] = [];
  let folder = call.state.folders.length === 1 ? call.state.folders[0] : undefined;
  let verbSeen = false;
  for (let at = 0; at < args.length; at += 1) {
    const arg = args[at] as Arg;
    const text = arg.value;
    if (text === "--") {
      rest.push(...args.slice(at));
      break;
    }
    const moves = /^(?:--prefix|--cwd|--dir|-C)$/.test(text)
      ? args[at + 1]
      : /^(?:--prefix|--cwd|--dir)=/.test(text)
        ? { ...arg, value: text.slice(text.indexOf("=") + 1) }
        : undefined;
    if (moves !== undefined && (!verbSeen || call.name === "npm")) {
      judgePath(call.gate, call.state.folders, { value: moves.value, glob: moves.glob, access: "read" });
      folder = folder === undefined || hasMark(moves.value) ? undefined : normalise(join(folder, moves.value));
      if (!text.includes("=")) at += 1;
      continue;
    }
    if (text.startsWith("-") && (!verbSeen || call.name === "npm")) {
      if (/^(?:-w|--workspace|--filter|-F)(?:=|$)/.test(text)) {
        report.review("package.workspace", "The scripts of another package are not read.", readable(text));
        if (!text.includes("=")) at += 1;
      } else if (!FREE_OPTIONS.test(text)) {
        odd.push(arg);
      }
      continue;
    }
    verbSeen = true;
    rest.push(arg);
  }
  return { rest, folder, odd };
}

function runVerb(call: Invocation, rest: readonly Arg[], folder: string | undefined): Flow {
  const [script, ...others] = rest;
  if (script === undefined) {
    call.gate.report.allow("package.lists-scripts", "It lists the scripts.");
    return NOTHING_KNOWN;
  }
  if (script.value.startsWith("-")) {
    call.gate.report.review(
      "options.unknown",
      `This option of ${call.name} is not known to be harmless.`,
      readable(script.value),
    );
    return NOTHING_KNOWN;
  }
  if (call.name === "bun" && /[./]/.test(script.value)) {
    call.gate.report.review(
      "interpreter.script",
      "It runs a script that the gate has not read.",
      readable(script.value),
    );
    return NOTHING_KNOWN;
  }
  return runScript(call, script.value, others, folder);
}

function runBare(call: Invocation, verb: Arg, rest: readonly Arg[], folder: string | undefined): Flow {
  const scripts = folder === undefined ? undefined : call.gate.facts.packageScripts(folder);
  if (scripts !== undefined && Object.hasOwn(scripts, verb.value)) return runScript(call, verb.value, rest, folder);
  if (call.name === "bun") {
    call.gate.report.review(
      "interpreter.script",
      "It runs a script that the gate has not read.",
      readable(describe(call)),
    );
    sweepPaths(call, rest);
    return NOTHING_KNOWN;
  }
  return judgeLocalTool({ ...call, name: verb.value, head: verb, args: rest });
}

function installs(call: Invocation): Flow {
  const { report, context } = call.gate;
  const subject = readable(describe(call));
  sweepPaths(call, call.args);
  if (
    call.args.some(
      (arg) =>
        /^(?:-g|--global|--location(?:=|$)|--script-shell|--registry|--userconfig|--globalconfig|--unsafe-perm)/.test(
          arg.value,
        ) ||
        hasMark(arg.value) ||
        /^(?:git|file|link|https?|ssh|github|gitlab):|^(?:\/|\.\.\/|~)|^git\+/.test(arg.value),
    )
  ) {
    report.review("install.unusual", "It installs from or to an unusual place.", subject);
  }
  const dlx = /^(?:dlx|create|init)$/.test(call.args[0]?.value ?? "");
  const fetched = dlx ? call.args[1] : undefined;
  if (fetched !== undefined) judgeLocalTool({ ...call, name: fetched.value, head: fetched, args: call.args.slice(2) });
  if (context.profile === "open" && !dlx)
    report.allow("install.packages", "The open profile may install dependencies.");
  else report.review("install.packages", "It fetches packages and runs their install scripts.", subject);
  return NOTHING_KNOWN;
}

/** `npx TOOL`: a local program is the project's own tool; anything else would be fetched and run. */
function judgeNpx(call: Invocation): Flow {
  const { gate } = call;
  const { report } = gate;
  let at = 0;
  for (; at < call.args.length; at += 1) {
    const text = call.args[at]?.value ?? "";
    if (text === "--") {
      at += 1;
      break;
    }
    if (!text.startsWith("-")) break;
    if (/^(?:--no-install|--no|--offline|--prefer-offline|-q|--quiet|-s|--silent|--bun|--yes|-y)$/.test(text)) continue;
    if (text === "-c" || text === "--call" || text === "--shell-auto-fallback") {
      runText(call, call.args[at + 1]?.value ?? "", "npx -c", false);
      report.review("package.npx-text", "It runs a text with packages in reach.", readable(describe(call)));
      return NOTHING_KNOWN;
    }
    report.review("options.unknown", `This option of ${call.name} is not known to be harmless.`, readable(text));
    if (/^(?:-p|--package)$/.test(text)) at += 1;
  }
  const [tool, ...rest] = call.args.slice(at);
  if (tool === undefined) {
    report.review("package.npx-empty", "There is nothing for it to run.", call.name);
    return NOTHING_KNOWN;
  }
  return judgeLocalTool({ ...call, name: tool.value, head: { ...tool, plain: tool.plain }, args: rest });
}

function corepack(call: Invocation): Flow {
  const [first, ...rest] = call.args;
  if (first !== undefined && /^(?:npm|pnpm|yarn)$/.test(first.value)) return call.walker.invoke([first, ...rest], call);
  call.gate.report.review("install.manager", "It installs or switches a package manager.", readable(describe(call)));
  return NOTHING_KNOWN;
}
