/** Node: its test runner and syntax check are the project's work; everything else is code (Node 20 to 24). */
import { describe, type Invocation } from "../invocation.ts";
import { flagTable, flagValue, has, scan } from "../options.ts";
import type { Flow } from "../shell/flow.ts";
import { readable } from "../shell/marks.ts";
import { judgeCode } from "./interpreters.ts";
import { judgeFlags, readPaths } from "./reader.ts";
import { asRunner } from "./runner.ts";

const TEST = flagTable(
  "--test --test-only --test-concurrency= --test-name-pattern= --test-skip-pattern= --test-reporter= --test-reporter-destination=> " +
    "--test-timeout= --test-force-exit --test-shard= --test-coverage-include= --test-coverage-exclude= --test-coverage-lines= " +
    "--test-coverage-branches= --test-coverage-functions= --test-isolation= --test-update-snapshots --experimental-test-coverage " +
    "--experimental-test-isolation= --experimental-test-module-mocks --experimental-test-snapshots --experimental-strip-types " +
    "--experimental-transform-types --experimental-vm-modules --experimental-sqlite --enable-source-maps --no-warnings " +
    "--disable-warning= --trace-warnings --trace-deprecation --no-deprecation --max-old-space-size= --stack-trace-limit= " +
    "--unhandled-rejections= --import= -r= --require= --loader= --conditions= -C= --check -c --watch --expose-gc",
);
/** Loaders that translate a language, by package name. */
const KNOWN_LOADERS = new Set([
  "tsx",
  "tsx/esm",
  "tsx/cjs",
  "ts-node/esm",
  "ts-node/register",
  "ts-node/register/transpile-only",
  "@swc-node/register",
  "@swc-node/register/esm-register",
  "esbuild-register",
]);

export function judgeNode(call: Invocation): Flow | undefined {
  const { args, gate } = call;
  const [first] = args;
  if (args.length === 1 && /^(?:--version|-v)$/.test(first?.value ?? "")) {
    gate.report.allow("interpreter.version", "It prints a version.");
    return undefined;
  }
  const found = scan(args, TEST, false);
  const tests = has(found, "--test");
  const checks = has(found, "--check", "-c") && found.unknown.length === 0;
  if (!tests && !checks) {
    judgeCode(call);
    return undefined;
  }
  judgeFlags(call, found, true);
  if (has(found, "--watch")) gate.report.review("runner.watch", "It would never end.", readable(describe(call)));
  for (const name of ["--import", "--require", "-r", "--loader"]) {
    const loaded = flagValue(found, name)?.value;
    if (loaded !== undefined && !KNOWN_LOADERS.has(loaded))
      gate.report.review("runner.preload", "It loads code before the tests.", readable(loaded));
  }
  for (const flag of found.flags) {
    if (flag.name === "--test-reporter" && !/^(?:spec|tap|dot|junit|lcov)$/.test(flag.value?.value ?? "")) {
      gate.report.review("runner.preload", "A reporter is code.", readable(flag.value?.value ?? ""));
    }
  }
  const operands = found.operands.filter((arg) => !arg.value.startsWith("-"));
  readPaths(call, operands);
  if (tests) asRunner(call, "Node's test runner.");
  else gate.report.allow("node.check", "It only checks the syntax.");
  return undefined;
}
