/** Tools that run a command in a project's environment, and those that install dependencies. */
import { describe, type Invocation, type ProgramTable } from "../invocation.ts";
import { program } from "../programs/reader.ts";
import { sweepPaths } from "../programs/sweep.ts";
import { tryEach } from "../programs/wrappers.ts";
import { type Flow, NOTHING_KNOWN } from "../shell/flow.ts";
import { hasMark, readable } from "../shell/marks.ts";

export const ENVIRONMENTS: ProgramTable = {
  uv: program("Python projects", judge),
  poetry: program("Python projects", judge),
  pipenv: program("Python projects", judge),
  pdm: program("Python projects", judge),
  rye: program("Python projects", judge),
  hatchling: program("Python projects", judge),
  conda: program("environments", judge),
  mamba: program("environments", judge),
  micromamba: program("environments", judge),
  pixi: program("environments", judge),
  bundle: program("Ruby projects", judge),
  bundler: program("Ruby projects", judge),
  composer: program("PHP projects", judge),
  mise: program("tool versions", judge),
  asdf: program("tool versions", judge),
  volta: program("tool versions", judge),
  fnm: program("tool versions", judge),
  pip: program("installs Python packages", judge),
  pip3: program("installs Python packages", judge),
  pipx: program("installs Python programs", judge),
  uvx: program("fetches and runs Python programs", judge),
  virtualenv: program("makes an environment", judge),
  nix: program("packages", judge),
  "nix-shell": program("packages", judge),
  rustup: program("toolchains", judge),
  nvm: program("toolchains", judge),
  pyenv: program("toolchains", judge),
  rbenv: program("toolchains", judge),
  lerna: program("repositories of packages", judge),
};

const RUN: Readonly<Record<string, RegExp>> = {
  uv: /^run$/,
  poetry: /^run$/,
  pipenv: /^run$/,
  pdm: /^run$/,
  rye: /^run$/,
  hatchling: /^run$/,
  conda: /^run$/,
  mamba: /^run$/,
  micromamba: /^run$/,
  pixi: /^run$/,
  bundle: /^exec$/,
  bundler: /^exec$/,
  composer: /^exec$/,
  mise: /^(?:exec|x)$/,
  asdf: /^exec$/,
  volta: /^run$/,
  fnm: /^exec$/,
  rbenv: /^exec$/,
  pyenv: /^exec$/,
};
const INSTALL = /^(?:install|i|add|sync|lock|update|upgrade|remove|uninstall|download|wheel|fetch|restore|require)$/;
const PUBLISH = /^(?:publish|upload|push|login|config)$/;
const READ: Readonly<Record<string, RegExp>> = {
  pip: /^(?:list|show|freeze|check|help|debug|inspect)$/,
  pip3: /^(?:list|show|freeze|check|help|debug|inspect)$/,
  poetry: /^(?:show|check|version|about)$/,
  uv: /^(?:tree|version)$/,
  bundle: /^(?:list|show|info|check|outdated)$/,
  composer: /^(?:show|validate|licenses|diagnose)$/,
};
const FREE_RUN_OPTION =
  /^(?:--|-q|--quiet|-v|--verbose|--frozen|--locked|--offline|--no-sync|--no-dev|--dev|--all-extras|--no-capture-output|--no-progress|--active|--isolated)$/;
/** Options that take a value and change nothing about what runs. */
const FREE_RUN_VALUE = /^(?:--extra|--group|--only-group|-n|--name|-p|--python|--package)$/;

function judge(call: Invocation): Flow {
  const { args, gate, name } = call;
  const { report, context } = gate;
  const subject = readable(describe(call));
  if (args.length === 1 && /^(?:--version|-V|-v|--help|-h)$/.test(args[0]?.value ?? "")) {
    report.allow("runner.version", "It prints a version.");
    return NOTHING_KNOWN;
  }
  const at = args.findIndex((arg) => !arg.value.startsWith("-"));
  const verb = at < 0 ? "" : (args[at]?.value ?? "");
  const rest = args.slice(at + 1);
  if (at > 0 && RUN[name] !== undefined && !args.slice(0, at).every((arg) => FREE_RUN_OPTION.test(arg.value))) {
    report.review("options.unknown", `An option of ${name} is not known to be harmless.`, subject);
  }
  if (RUN[name]?.test(verb) === true) return runInside(call, rest);
  if (Object.hasOwn(READ, name) && READ[name]?.test(verb) === true) {
    sweepPaths(call, rest);
    report.allow("package.reads", "It reads what is installed.");
    return NOTHING_KNOWN;
  }
  if (PUBLISH.test(verb) && !/^pip3?$/.test(name)) {
    if (verb !== "config") report.person("outward.publish", "It changes something at a package registry.", subject);
    else report.review("package.asks", "It shows or changes settings.", subject);
    return NOTHING_KNOWN;
  }
  sweepPaths(call, args);
  const nested = name === "uv" && verb === "pip" ? (rest[0]?.value ?? "") : verb;
  if (
    context.profile === "open" &&
    INSTALL.test(nested) &&
    !/^(?:pipx|nix|mise|asdf|volta|fnm|rustup|nvm|pyenv)$/.test(name) &&
    !rest.some(
      (arg) =>
        hasMark(arg.value) ||
        /^(?:--index-url|-i|--extra-index-url|--find-links|-f|--target|-t|--prefix|--root|--user|-g|global)(?:=|$)/.test(
          arg.value,
        ),
    )
  ) {
    report.allow("install.packages", "The open profile may install dependencies.");
    return NOTHING_KNOWN;
  }
  report.review("install.packages", "It fetches packages, changes an environment or runs an unknown program.", subject);
  if (RUN[name] !== undefined || name === "uvx" || name === "pipx" || name.startsWith("nix")) tryEach(call, rest);
  return NOTHING_KNOWN;
}

/** The command after `uv run`, `poetry run`, `bundle exec`. */
function runInside(call: Invocation, words: Invocation["args"]): Flow {
  let at = 0;
  for (; at < words.length; at += 1) {
    const text = words[at]?.value ?? "";
    if (!text.startsWith("-")) break;
    if (FREE_RUN_VALUE.test(text)) at += 1;
    else if (text === "-m" && call.name === "uv")
      return call.walker.invoke(
        [{ value: "python3", raw: "python3", glob: false, plain: true }, ...words.slice(at)],
        call,
      );
    else if (!FREE_RUN_OPTION.test(text)) {
      call.gate.report.review(
        "options.unknown",
        `This option of ${call.name} is not known to be harmless.`,
        readable(text),
      );
      tryEach(call, words.slice(at + 1));
      return NOTHING_KNOWN;
    }
    if (text === "--") {
      at += 1;
      break;
    }
  }
  const inner = words.slice(at);
  if (inner.length === 0) {
    call.gate.report.review("wrapper.empty", "There is nothing for it to start.", describe(call));
    return NOTHING_KNOWN;
  }
  return call.walker.invoke(inner, call);
}
