/** `git`: its own options first, then the verb (git 2.43). */
import { describe, type Invocation, type ProgramTable } from "../invocation.ts";
import { judgePath } from "../paths/access.ts";
import { join, normalise } from "../paths/text.ts";
import { judgeClaudeWords } from "../programs/claude.ts";
import { program } from "../programs/reader.ts";
import { runText } from "../programs/shells.ts";
import { sweepPaths } from "../programs/sweep.ts";
import { type Flow, FROM_NETWORK, NOTHING_KNOWN } from "../shell/flow.ts";
import { hasMark, readable } from "../shell/marks.ts";
import type { Arg } from "../shell/words.ts";
import { configKeyKind, isHarmlessKey } from "./config.ts";
import { READ_VERBS } from "./flags.ts";
import { flowOfRead } from "./flows.ts";
import { judgeGitRead } from "./read.ts";
import { judgePush, NETWORK_VERBS } from "./remote.ts";
import { WRITE_VERBS } from "./write.ts";

export const GIT: ProgramTable = { git: program("version control", judgeGit) };

const FREE_OPTIONS = new Set([
  "--no-pager",
  "-P",
  "--no-optional-locks",
  "--literal-pathspecs",
  "--glob-pathspecs",
  "--noglob-pathspecs",
  "--icase-pathspecs",
  "--no-replace-objects",
  "--no-advice",
]);
const PRINTS = new Set(["--version", "-v", "--html-path", "--man-path", "--info-path", "--exec-path", "--help", "-h"]);
const NAMES_A_REPOSITORY = /^--(?:git-dir|work-tree|namespace|super-prefix|attr-source|list-cmds)(?:=|$)/;

/** One git call after its own options. */
export interface GitCall extends Invocation {
  readonly verb: string;
  readonly rest: readonly Arg[];
}

function judgeGit(call: Invocation): Flow {
  const { args, gate } = call;
  const { report } = gate;
  let state = call.state;
  let at = 0;
  for (; at < args.length; at += 1) {
    const text = args[at]?.value ?? "";
    if (!text.startsWith("-")) break;
    if (FREE_OPTIONS.has(text)) continue;
    if (text === "-C") {
      state = enter(call, args[at + 1], state);
      at += 1;
    } else if (text === "-c" || text === "--config-env") {
      judgeSetting(call, args[at + 1]?.value ?? "", text);
      at += 1;
    } else if (/^-c.+/.test(text) || text.startsWith("--config-env="))
      judgeSetting(call, text.replace(/^-c|^--config-env=/, ""), text);
    else if (text.startsWith("--exec-path="))
      report.deny("git.exec-path", "Git would run its programs from another folder.", readable(text));
    else if (PRINTS.has(text) && args.length === 1) {
      report.allow("git.version", "It prints a fact about git.");
      return NOTHING_KNOWN;
    } else if (NAMES_A_REPOSITORY.test(text)) {
      report.review("git.other-repository", "Another repository is named.", readable(text));
      if (!text.includes("=")) at += 1;
    } else if (text === "-p" || text === "--paginate")
      report.review("git.pager", "It starts the configured pager.", text);
    else if (text === "--bare") report.review("git.other-repository", "It takes a folder for a repository.", text);
    else report.review("options.unknown", "This option of git is not known to be harmless.", readable(text));
  }
  const verb = args[at];
  if (verb === undefined) {
    report.allow("git.help", "It prints a help text.");
    return NOTHING_KNOWN;
  }
  const rest = args.slice(at + 1);
  const git: GitCall = { ...call, state, verb: verb.value, rest };
  if (hasMark(verb.value) || verb.glob)
    report.review("git.dynamic-verb", "An expansion decides what git does.", readable(describe(call)));
  if (!verb.plain) report.review("words.built-command", "The verb of git is built from pieces.", verb.raw);
  return judgeVerb(git);
}

function judgeVerb(git: GitCall): Flow {
  const { verb, gate } = git;
  if (verb === "push" || verb === "send-pack") {
    judgePush(git);
    return NOTHING_KNOWN;
  }
  if (Object.hasOwn(NETWORK_VERBS, verb)) {
    NETWORK_VERBS[verb]?.(git);
    sweepPaths(git, git.rest);
    return FROM_NETWORK;
  }
  if (Object.hasOwn(WRITE_VERBS, verb)) return WRITE_VERBS[verb]?.(git) ?? NOTHING_KNOWN;
  if (Object.hasOwn(READ_VERBS, verb)) {
    judgeGitRead(git);
    return flowOfRead(git);
  }
  gate.report.review(
    "git.unknown-verb",
    "The gate does not know this verb of git; it may be an alias.",
    readable(describe(git)),
  );
  judgeClaudeWords(git);
  sweepPaths(git, git.rest);
  for (const arg of git.rest) if (arg.value.includes(" ")) runText(git, arg.value, `git ${verb}`, true);
  return NOTHING_KNOWN;
}

/** `-C DIR`: git works from there. */
function enter(call: Invocation, folder: Arg | undefined, from: Invocation["state"]): Invocation["state"] {
  const value = folder?.value ?? "";
  judgePath(call.gate, from.folders, { value, glob: folder?.glob ?? false, access: "read" });
  const state = from.clone();
  const [base] = from.folders;
  const known = base !== undefined && !hasMark(value) && folder?.glob !== true;
  state.enter(known ? normalise(join(base, value)) : undefined, true);
  return state;
}

/** `-c key=value`: some values are programs. */
function judgeSetting(call: Invocation, setting: string, option: string): void {
  const equals = setting.indexOf("=");
  const key = equals < 0 ? setting : setting.slice(0, equals);
  const value = option.startsWith("--config-env") ? undefined : equals < 0 ? "true" : setting.slice(equals + 1);
  const { report } = call.gate;
  if (hasMark(key)) report.review("git.setting", "An expansion decides a setting of git.", readable(setting));
  else if (configKeyKind(key, value) === "runs") {
    report.deny("git.setting-runs", "Git would run the value of this setting.", readable(setting));
    if (value?.startsWith("!")) runText(call, value.slice(1), "git alias", true);
  } else if (!isHarmlessKey(key))
    report.review("git.setting", "A setting that is not known to be harmless.", readable(setting));
}
