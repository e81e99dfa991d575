/**
 * Tools that test, check, lint, format or build a project. A line is a name and what it does; `test` and the like after
 * the name are the only verbs that are the project's work, all others are asked.
 */
import { describe, type Invocation, type ProgramTable } from "../invocation.ts";
import { program } from "../programs/reader.ts";
import { asRunner, judgeRunnerWords } from "../programs/runner.ts";
import { sweepPaths } from "../programs/sweep.ts";
import { type Flow, NOTHING_KNOWN } from "../shell/flow.ts";
import { readable } from "../shell/marks.ts";

/** Free with any words that stay in the workspace. */
const WHOLE: Readonly<Record<string, string>> = {
  tsc: "checks and compiles TypeScript",
  "vue-tsc": "checks and compiles TypeScript",
  tsup: "bundles",
  tsdown: "bundles",
  esbuild: "bundles",
  rollup: "bundles",
  webpack: "bundles",
  parcel: "bundles",
  vite: "bundles and serves for development",
  swc: "compiles JavaScript",
  babel: "compiles JavaScript",
  rspack: "bundles",
  unbuild: "bundles",
  microbundle: "bundles",
  "api-extractor": "checks an API",
  typedoc: "builds documentation",
  eslint: "lints",
  oxlint: "lints",
  oxfmt: "formats",
  biome: "lints and formats",
  prettier: "formats",
  stylelint: "lints styles",
  standard: "lints",
  xo: "lints",
  tslint: "lints",
  jshint: "lints",
  dprint: "formats",
  knip: "finds unused code",
  depcheck: "finds unused dependencies",
  madge: "draws imports",
  publint: "checks a package",
  attw: "checks a package's types",
  cspell: "checks spelling",
  markdownlint: "lints text",
  "markdownlint-cli2": "lints text",
  "lint-staged": "lints staged files",
  commitlint: "checks commit messages",
  "size-limit": "checks a bundle's size",
  mocha: "tests",
  jest: "tests",
  vitest: "tests",
  ava: "tests",
  tap: "tests",
  uvu: "tests",
  jasmine: "tests",
  karma: "tests",
  tape: "tests",
  qunit: "tests",
  cypress: "tests in a browser",
  playwright: "tests in a browser",
  testcafe: "tests in a browser",
  "cucumber-js": "tests",
  stryker: "tests the tests",
  c8: "measures coverage",
  nyc: "measures coverage",
  tsd: "tests types",
  postcss: "builds styles",
  sass: "builds styles",
  lessc: "builds styles",
  tailwindcss: "builds styles",
  svgo: "shrinks pictures",
  pytest: "tests",
  "py.test": "tests",
  mypy: "checks types",
  pyright: "checks types",
  basedpyright: "checks types",
  ruff: "lints and formats",
  black: "formats",
  isort: "sorts imports",
  flake8: "lints",
  pylint: "lints",
  pycodestyle: "lints",
  pydocstyle: "lints",
  autopep8: "formats",
  yapf: "formats",
  bandit: "lints",
  vulture: "finds unused code",
  tox: "tests in several environments",
  nox: "tests in several environments",
  rustfmt: "formats",
  gofmt: "formats",
  goimports: "formats",
  gofumpt: "formats",
  staticcheck: "lints",
  "golangci-lint": "lints",
  gotestsum: "tests",
  rspec: "tests",
  rubocop: "lints",
  minitest: "tests",
  standardrb: "lints",
  phpunit: "tests",
  phpstan: "checks types",
  psalm: "checks types",
  "php-cs-fixer": "formats",
  phpcs: "lints",
  pint: "formats",
  shellcheck: "lints shell scripts",
  shfmt: "formats shell scripts",
  hadolint: "lints container files",
  yamllint: "lints",
  actionlint: "lints",
  jsonlint: "lints",
  vale: "lints text",
  codespell: "checks spelling",
  typos: "checks spelling",
  "clang-format": "formats",
  "clang-tidy": "lints",
  cppcheck: "lints",
  ctest: "tests",
  bats: "tests shell scripts",
  busted: "tests",
  luacheck: "lints",
  stylua: "formats",
  ktlint: "lints",
  detekt: "lints",
  swiftlint: "lints",
  swiftformat: "formats",
  "terraform-docs": "builds documentation",
  tflint: "lints",
  buf: "checks and builds protocol files",
  mdbook: "builds documentation",
  mkdocs: "builds and serves documentation",
  "sphinx-build": "builds documentation",
  hugo: "builds pages",
  jekyll: "builds pages",
  make: "runs the project's own rules",
  gmake: "runs the project's own rules",
  cmake: "prepares and runs a build",
  ninja: "runs a build",
  meson: "prepares and runs a build",
  just: "runs the project's own rules",
  rake: "runs the project's own rules",
  gradle: "runs a build",
  gradlew: "runs a build",
  mvn: "runs a build",
  mvnw: "runs a build",
  ant: "runs a build",
  sbt: "runs a build",
  bazel: "runs a build",
  turbo: "runs package scripts of a repository",
  nx: "runs targets of a repository",
  grunt: "runs the project's own rules",
  gulp: "runs the project's own rules",
};

/** Only these verbs (the first word that is no option) are the project's work. */
const BY_VERB: Readonly<Record<string, { verbs: string; reason: string }>> = {
  cargo: {
    verbs:
      "test t build b check c clippy fmt doc d bench metadata tree nextest clean verify-project locate-project version fix",
    reason: "builds and tests Rust",
  },
  go: { verbs: "test build vet fmt list version env doc clean mod tool", reason: "builds and tests Go" },
  coverage: { verbs: "run report html xml json erase combine", reason: "measures coverage" },
  "pre-commit": { verbs: "run validate-config validate-manifest", reason: "runs the project's checks" },
  dotnet: { verbs: "test build format clean", reason: "builds and tests .NET" },
  swift: { verbs: "test build", reason: "builds and tests Swift" },
  mix: { verbs: "test compile format credo dialyzer", reason: "builds and tests Elixir" },
  rebar3: { verbs: "compile eunit ct dialyzer", reason: "builds and tests Erlang" },
  stack: { verbs: "test build", reason: "builds and tests Haskell" },
  cabal: { verbs: "test build check", reason: "builds and tests Haskell" },
  zig: { verbs: "build test fmt ast-check", reason: "builds and tests Zig" },
  dart: { verbs: "test analyze format compile", reason: "builds and tests Dart" },
  flutter: { verbs: "test analyze build", reason: "builds and tests Flutter" },
  deno: { verbs: "test lint fmt check doc bench", reason: "tests and checks" },
  next: { verbs: "build lint typegen", reason: "builds pages" },
  nuxt: { verbs: "build typecheck prepare generate", reason: "builds pages" },
  astro: { verbs: "build check sync", reason: "builds pages" },
  ng: { verbs: "build test lint", reason: "builds and tests Angular" },
  "react-scripts": { verbs: "build test", reason: "builds and tests React" },
  storybook: { verbs: "build", reason: "builds a catalogue of components" },
  "vue-cli-service": { verbs: "build lint test:unit", reason: "builds pages" },
  "svelte-kit": { verbs: "sync", reason: "prepares pages" },
  "svelte-check": { verbs: "", reason: "checks types" },
  wasm: { verbs: "", reason: "builds" },
  "wasm-pack": { verbs: "build test", reason: "builds" },
  maturin: { verbs: "build", reason: "builds" },
  hatch: { verbs: "test fmt build", reason: "tests and builds" },
  xcodebuild: { verbs: "build test", reason: "builds and tests" },
  ansible_lint: { verbs: "", reason: "lints" },
};

export const TOOLS: ProgramTable = {
  ...Object.fromEntries(Object.entries(WHOLE).map(([name, reason]) => [name, program(reason, whole)])),
  ...Object.fromEntries(Object.entries(BY_VERB).map(([name, { reason }]) => [name, program(reason, byVerb)])),
};

/** Targets and tasks that by their name act where others see it. */
const OUTWARD_TARGET = /^(?::?[\w-]+:)*(?:deploy|publish|release|upload|push|ship|promote)(?:[-_:][\w:-]+)?$/i;
const SYSTEM_TARGET = /^(?:install|uninstall)(?:[-_].*)?$/;
/** Options that name code, another program, or a place for output. */
const NAMES_CODE: Readonly<Record<string, RegExp>> = {
  make: /^(?:--eval|-E|-I|--include-dir|-e$|--environment-overrides|-o|--old-file|-W|--what-if|--new-file)/,
  gmake: /^(?:--eval|-E|-I|--include-dir|-e$)/,
  cargo: /^(?:--config|-Z|--target-dir|--manifest-path=\/|--registry|--index|\+)/,
  go: /^-(?:-)?(?:exec|toolexec|vettool|overlay|modfile|gccgoflags|asmflags|gcflags|w)(?:=|$)/,
  cmake: /^-(?:D(?:CMAKE_(?:\w*COMPILER\w*|\w*LAUNCHER|TOOLCHAIN\w*|PROJECT_\w*INCLUDE\w*|MAKE_PROGRAM))|P|C|E)/,
  eslint: /^--(?:rulesdir|resolve-plugins-relative-to|plugin|parser|init)(?:=|$)/,
  jest: /^--(?:testRunner|runner|resolver|globalSetup|globalTeardown|setupFiles|setupFilesAfterEnv|testEnvironment|reporters|preset|filter|transform|haste|watchPlugins)(?:=|$)/,
  mocha: /^(?:-r|--require|--import|--loader|--node-option|-n|--experimental-loader)(?:=|$)/,
  prettier: /^--plugin(?:=|$)/,
  vitest: /^--(?:globals\.setup|api\.host)(?:=|$)/,
  pytest:
    /^(?:-p$|-p[^y]|--rootdir|-c$|--confcutdir|--basetemp|-o$|--override-ini|--import-mode|--pastebin|--debug|--pdbcls)/,
  rubocop: /^(?:-r|--require|--plugin)/,
  rspec: /^(?:-r|--require|-I|-O|--options|--out|-o)(?:=|$)/,
  esbuild: /^--(?:servedir|serve|certfile)/,
  rollup: /^(?:-p|--plugin|--configPlugin)/,
  webpack: /^(?:-r|--require|--config-loader)/,
  gradle:
    /^(?:-I|--init-script|-D|-P|--include-build|-b|--build-file|-c|--settings-file|-g|--gradle-user-home|--project-cache-dir)/,
  gradlew: /^(?:-I|--init-script|-D|-P|--include-build|-b|--build-file|-g)/,
  mvn: /^-D(?:exec|maven\.ext|skip.*Exec|argLine|jvm)|^(?:-s|--settings|-gs|-f)$/,
  just: /^(?:--shell|--shell-arg|-c|--command|--set|--choose|--chooser|--edit|--working-directory|-d)/,
  ctest: /^(?:-S|-SP|-D|--build-and-test|--script)/,
  "golangci-lint": /^(?:custom|cache)$/,
  playwright: /^(?:codegen|open|install|install-deps|show-trace|cr|ff|wk)$/,
  cypress: /^(?:install|open)$/,
  tox: /^(?:-x|--override|-c)(?:=|$)/,
  mypy: /^--(?:install-types|python-executable|custom-typing-module|custom-typeshed-dir|cache-dir)(?:=|$)/,
  vite: /^--(?:host|open)(?:=|$)/,
  tsc: /^--(?:plugins|generateTrace|generateCpuProfile)(?:=|$)/,
  "lint-staged": /^(?:-s|--shell)(?:=|$)/,
  "clang-tidy": /^-(?:-)?load/,
  turbo: /^(?:login|link|unlink|daemon|gen|prune)$|^--(?:token|api)/,
  nx: /^(?:release|connect|login|migrate|generate|g|add|init)$/,
  bazel: /^(?:run|--(?:run_under|override_repository|bazelrc|host_jvm_args))/,
  biome: /^(?:lsp-proxy|start|stop|daemon|migrate|init|upgrade)$/,
  c8: /^$/,
};
const MAKE_FREE_VARIABLES =
  /^(?:V|VERBOSE|DEBUG|Q|RELEASE|ARCH|PROFILE|BUILD_TYPE|NPROC|JOBS|TEST|TESTS|TESTARGS|FILTER|RUN|PKG|T)=[\w./:,-]*$/;
/** They start the rest of their words as a command. */
const STARTS_REST = new Set(["c8", "nyc"]);

function whole(call: Invocation): Flow {
  const { gate, args, name } = call;
  const subject = readable(describe(call));
  if (STARTS_REST.has(name)) {
    const at = args.findIndex((arg) => !arg.value.startsWith("-"));
    judgeRunnerWords(call, at < 0 ? args : args.slice(0, at));
    if (at >= 0) return call.walker.invoke(args.slice(at), call);
  }
  const code = Object.hasOwn(NAMES_CODE, name) ? NAMES_CODE[name] : undefined;
  if (name === "go") judgeLinkerFlags(call);
  for (const arg of args) {
    if (code?.test(arg.value) === true)
      gate.report.review("runner.option", "This option names code or another place.", readable(arg.value));
    if (isTargetRunner(name)) judgeTarget(call, arg.value, subject);
  }
  if (name === "ruff" && args[0]?.value === "clean") gate.report.review("runner.clean", "It removes caches.", subject);
  if (
    args.some(
      (arg) => /^--(?:watch|watchAll|ui|serve|inspect|inspect-brk|open)$/.test(arg.value) || arg.value === "serve",
    )
  )
    gate.report.allow("runner.serves", "It goes on until it is ended.");
  judgeRunnerWords(call, args);
  judgeMakefile(call);
  asRunner(call, "A tool that tests, checks, formats or builds.");
  return NOTHING_KNOWN;
}

function isTargetRunner(name: string): boolean {
  return /^(?:g?make|just|rake|gradlew?|mvnw?|ant|sbt|ninja|turbo|nx|grunt|gulp|task|bazel)$/.test(name);
}

function judgeTarget(call: Invocation, word: string, subject: string): void {
  const { gate, name } = call;
  if (word.startsWith("-")) return;
  if (OUTWARD_TARGET.test(word))
    gate.report.person("outward.target", "By its name it acts where others see it.", subject);
  else if (SYSTEM_TARGET.test(word) && name !== "mvn" && name !== "mvnw")
    gate.report.review("runner.installs", "It would install something.", subject);
  const assignment = /^([A-Za-z_]\w*)[:+?!]?=/.exec(word);
  if (/make$/.test(name) && assignment !== null && !MAKE_FREE_VARIABLES.test(word)) {
    gate.report.review("runner.variable", "This variable can replace a program that the rules start.", readable(word));
  }
}

/** `make -f FILE` and `make -C DIR`: the rules are there. */
function judgeMakefile(call: Invocation): void {
  if (!/^g?make$/.test(call.name)) return;
  const { args, gate, state } = call;
  for (const [index, arg] of args.entries()) {
    const file = /^(?:-f|--file|--makefile)$/.test(arg.value)
      ? args[index + 1]?.value
      : /^(?:-f|--file=|--makefile=)(.+)$/.exec(arg.value)?.[1];
    if (file === undefined) continue;
    if (file === "-") gate.report.review("interpreter.piped", "It runs what comes in.", "make -f -");
    const [folder] = state.folders;
    if (folder === undefined || gate.facts.changedByTask(file.startsWith("/") ? file : `${folder}/${file}`))
      gate.report.review(
        "runner.definition-changed",
        "The task changed what this runner does, and the gate cannot read it.",
        readable(file),
      );
  }
  for (const [index, arg] of args.entries()) {
    const folder = /^(?:-C|--directory)$/.test(arg.value)
      ? args[index + 1]?.value
      : /^(?:-C|--directory=)(.+)$/.exec(arg.value)?.[1];
    if (folder === undefined || state.folders[0] === undefined) continue;
    for (const name of ["GNUmakefile", "makefile", "Makefile"]) {
      if (gate.facts.changedByTask(`${folder.startsWith("/") ? "" : `${state.folders[0]}/`}${folder}/${name}`))
        gate.report.review(
          "runner.definition-changed",
          "The task changed what this runner does, and the gate cannot read it.",
          `${folder}/${name}`,
        );
    }
  }
}

function byVerb(call: Invocation): Flow {
  const { gate, args, name } = call;
  const subject = readable(describe(call));
  if (args.length === 1 && /^(?:--version|-V|-v|--help|-h|version|help)$/.test(args[0]?.value ?? "")) {
    gate.report.allow("runner.version", "It prints a version.");
    return NOTHING_KNOWN;
  }
  const verbs = (BY_VERB[name]?.verbs ?? "").split(" ");
  const verb = args.find((arg) => !arg.value.startsWith("-") && !arg.value.startsWith("+"))?.value ?? "";
  sweepPaths(call, args);
  if (/^(?:publish|yank|owner|login|push|hex\.publish)$/.test(verb)) {
    gate.report.person("outward.publish", "It changes something at a package registry.", subject);
    return NOTHING_KNOWN;
  }
  if (
    isDependencyVerb(
      name,
      args.map((arg) => arg.value),
    )
  ) {
    if (gate.context.profile === "open")
      gate.report.allow("install.packages", "The open profile may install dependencies.");
    else gate.report.review("install.packages", "It fetches packages.", subject);
    return NOTHING_KNOWN;
  }
  if (!verbs.includes(verb) && !(verbs[0] === "" && verb === "")) {
    gate.report.review("runner.verb", `This verb of ${name} is not known to be the project's own work.`, subject);
    return NOTHING_KNOWN;
  }
  if (
    name === "go" &&
    (verb === "mod" || verb === "env" || verb === "tool") &&
    !isReadingGo(args.map((arg) => arg.value))
  ) {
    gate.report.review("runner.verb", `This verb of ${name} changes settings or fetches.`, subject);
  }
  return whole(call);
}

function isDependencyVerb(name: string, words: readonly string[]): boolean {
  if (name === "cargo") return /^(?:fetch|update|add|remove|vendor|generate-lockfile)$/.test(words[0] ?? "");
  if (name === "go")
    return (words[0] === "mod" && /^(?:download|tidy|vendor)$/.test(words[1] ?? "")) || words[0] === "get";
  if (name === "dotnet") return words[0] === "restore";
  if (name === "mix") return words[0] === "deps.get";
  return false;
}

function isReadingGo(words: readonly string[]): boolean {
  if (words[0] === "mod") return /^(?:graph|verify|why)$/.test(words[1] ?? "");
  if (words[0] === "env") return words.slice(1).every((word) => /^(?:-json|[A-Z_0-9]+)$/.test(word));
  return words.length === 1 || words[1] === "cover" || words[1] === "pprof";
}

/** `-ldflags "-s -w -X main.version=1"` only strips and sets texts; others name a linker. */
function judgeLinkerFlags(call: Invocation): void {
  for (const [index, arg] of call.args.entries()) {
    const value = /^--?ldflags$/.test(arg.value)
      ? (call.args[index + 1]?.value ?? "")
      : /^--?ldflags=(.*)$/.exec(arg.value)?.[1];
    if (value === undefined || /^(?:\s*(?:-s|-w|-X[ =]?['"]?[\w./-]+=[\w.:/+-]*['"]?))*\s*$/.test(value)) continue;
    call.gate.report.review("runner.option", "This option names code or another program.", readable(value));
  }
}
