/** `jq`: a filter that reads no environment, module or program file (jq 1.7). */
import type { Invocation } from "../invocation.ts";
import { flagTable, scan } from "../options.ts";
import { type Flow, filtered, NOTHING_KNOWN } from "../shell/flow.ts";
import { readable } from "../shell/marks.ts";
import type { Arg } from "../shell/words.ts";
import { judgeData, judgeFlags, readPaths } from "./reader.ts";

const FLAGS = flagTable(
  "-nreajscCMSRV --null-input --raw-input --slurp --compact-output --raw-output --raw-output0 --join-output --ascii-output " +
    "--sort-keys --color-output --monochrome-output --tab --indent= --unbuffered --stream --stream-errors --seq --exit-status " +
    "--args --jsonargs --version --help",
);
const TWO_WORDS = new Set(["--arg", "--argjson"]);
const NAME_AND_FILE = new Set(["--slurpfile", "--rawfile"]);
const READS_ELSEWHERE =
  /(?<![.\w"$@])env\b|\$ENV\b|\$__prog|(?<![.\w"$])(?:import|include|input_filename|get_search_list|modulemeta)\b/;

export function judgeJq(call: Invocation): Flow {
  const args: Arg[] = [];
  const files: Arg[] = [];
  for (let index = 0; index < call.args.length; index += 1) {
    const arg = call.args[index] as Arg;
    if (!TWO_WORDS.has(arg.value) && !NAME_AND_FILE.has(arg.value)) {
      args.push(arg);
      continue;
    }
    const value = call.args[index + 2];
    if (value !== undefined) {
      if (NAME_AND_FILE.has(arg.value)) files.push(value);
      else judgeData(call, [value]);
    }
    index += 2;
  }
  const found = scan(args, FLAGS);
  judgeFlags(call, found, true);
  const [filter, ...paths] = found.operands;
  if (filter !== undefined && (READS_ELSEWHERE.test(filter.value) || filter.value.includes("\uE002"))) {
    call.gate.report.review("jq.filter", "Its filter reads the environment or a module.", readable(filter.value));
  }
  const asData = found.flags.some((flag) => flag.name === "--args" || flag.name === "--jsonargs");
  readPaths(call, asData ? files : [...paths, ...files]);
  call.gate.report.allow("read.jq", "It picks from JSON.");
  return paths.length === 0 ? filtered(call.stdin, false) : NOTHING_KNOWN;
}
