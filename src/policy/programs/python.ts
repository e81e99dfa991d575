/** Python: modules that test, lint or build are project runners; everything else is code. */
import { describe, type Invocation } from "../invocation.ts";
import type { Flow } from "../shell/flow.ts";
import { NETWORK, readable } from "../shell/marks.ts";
import { judgeCode } from "./interpreters.ts";
import { judgeRunnerWords } from "./runner.ts";
import { sweepPaths } from "./sweep.ts";

/** Modules that are programs of their own name. */
const TOOLS = new Set(
  "pytest mypy black ruff flake8 pylint isort coverage tox nox build pip pyright pre_commit pycodestyle pydocstyle bandit autopep8 yapf sphinx mkdocs twine uv poetry hatch pdm".split(
    " ",
  ),
);
/** Modules of the standard library that only test, compile or format. */
const HARMLESS = new Set(
  "unittest doctest compileall py_compile json.tool tabnanny tokenize ast dis platform sysconfig calendar timeit this site".split(
    " ",
  ),
);

export function judgePython(call: Invocation): Flow | undefined {
  const { args, gate } = call;
  if (args.length === 1 && /^(?:--version|-V|-VV)$/.test(args[0]?.value ?? "")) {
    gate.report.allow("interpreter.version", "It prints a version.");
    return undefined;
  }
  let at = 0;
  while (at < args.length && /^-(?:[bBdEIOqsSuv]+|OO)$/.test(args[at]?.value ?? "")) at += 1;
  while (/^-[WX]$/.test(args[at]?.value ?? "")) at += 2;
  while (/^-(?:W|X)[\w:=.,-]+$/.test(args[at]?.value ?? "")) at += 1;
  const flag = args[at]?.value ?? "";
  const module = flag === "-m" ? args[at + 1] : undefined;
  if (module === undefined) {
    judgeCode(call);
    return undefined;
  }
  const rest = args.slice(at + 2);
  if (TOOLS.has(module.value)) {
    const name = module.value.replaceAll("_", "-");
    return call.walker.invoke([{ ...module, value: name, plain: true }, ...rest], call);
  }
  if (!HARMLESS.has(module.value)) {
    gate.report.review("interpreter.module", "It runs a module that the gate does not know.", readable(describe(call)));
    sweepPaths(call, rest);
    if (rest.some((arg) => arg.value.includes(NETWORK)))
      gate.report.deny("network.into-interpreter", "It would run text from the network.", describe(call));
    return undefined;
  }
  if (module.value === "timeit" || module.value === "site")
    gate.report.review("interpreter.code", "It runs code that the gate does not read.", readable(describe(call)));
  judgeRunnerWords(call, rest);
  if (gate.context.profile === "strict" && module.value === "unittest")
    gate.report.review("runner.strict", "The strict profile asks before project runners.", describe(call));
  gate.report.allow("runner.python", "A module that tests, compiles or formats.");
  return undefined;
}
