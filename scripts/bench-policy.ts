/** How long a verdict takes, and how much of that is the bare parse of the same text. */
import { parse } from "unbash";
import type { PolicyContext, PolicyFacts } from "../src/core/contracts/policy.ts";
import { judge } from "../src/policy/index.ts";
import type { BenchOptions, Row, Section } from "./bench/measure.ts";
import { contextOf, factsOf } from "./corpus/policy.ts";

const TYPICAL: readonly string[] = [
  "ls -la src",
  "git status --short",
  "git diff HEAD~1 -- src/parser.ts",
  "grep -rn 'TODO' src | head -20",
  "npm test 2>&1 | tail -40",
  "cd src && ls -la",
  'git add -A && git commit -m "Fix the parser"',
  "sed -n '1,80p' src/index.ts",
  "find . -name '*.ts' -not -path './node_modules/*' | sort | head",
  'for f in src/*.ts; do echo "$f"; wc -l "$f"; done',
  "git commit -m \"$(cat <<'EOF'\nfix: keep the last token\n\nThe parser dropped it.\nEOF\n)\"",
  "cat > src/new.ts <<'EOF'\nexport const answer = 42;\nEOF",
];

const WORST: readonly string[] = [
  "true;".repeat(2_000),
  `echo ${"a ".repeat(4_990)}`,
  `echo ${"$(".repeat(200)}ls${")".repeat(200)}`,
  `ls ${"{a,b}".repeat(1_990)}`,
  `cat ${"../".repeat(3_300)}x`,
  `${"for i in 1 2 3 4 5 6 7 8; do ".repeat(60)}ls${"; done".repeat(60)}`,
  `for i in ${"w ".repeat(900)}; do ${"cat $i; ".repeat(900)}done`,
  `awk '${"/a/".repeat(3_000)}' f`,
  `sed '${"s/a/b/;".repeat(1_400)}' f`,
  `ls ${"*".repeat(9_990)}`,
  `x=a; ${"x=$x$x; ".repeat(1_200)}`,
  "a=b;".repeat(2_500),
  `unknown ${"a=@:,".repeat(1_990)}`,
  `echo ${"\\".repeat(9_990)}`,
];

interface Line {
  name: string;
  medianUs: number;
  p99Us: number;
  parseUs: number;
  beyondUs: number;
}

const context: PolicyContext = contextOf({});
const facts: PolicyFacts = factsOf({ scripts: { test: "node --test" }, local_bins: ["tsc"] });

function measure(command: string, rounds: number): Line {
  const call = { toolName: "Bash", input: { command }, cwd: context.workspace };
  const whole = times(rounds, () => judge(call, context, facts));
  const bare = times(rounds, () => parse(command));
  const medianUs = quantile(whole, 0.5);
  const parseUs = quantile(bare, 0.5);
  return {
    name: command.slice(0, 44).replaceAll("\n", "\\n"),
    medianUs,
    p99Us: quantile(whole, 0.99),
    parseUs,
    beyondUs: medianUs - parseUs,
  };
}

function times(rounds: number, run: () => unknown): number[] {
  for (let index = 0; index < rounds / 4; index += 1) run();
  const samples: number[] = [];
  for (let index = 0; index < rounds; index += 1) {
    const start = process.hrtime.bigint();
    run();
    samples.push(Number(process.hrtime.bigint() - start) / 1_000);
  }
  return samples.sort((a, b) => a - b);
}

function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

export async function run({ quick, log }: BenchOptions): Promise<Section> {
  log(`${TYPICAL.length} typical commands and ${WORST.length} of 10,000 characters`);
  const typical = TYPICAL.map((command) => measure(command, quick ? 400 : 4_000));
  const worst = WORST.map((command) => measure(command.slice(0, 10_000), quick ? 6 : 60));
  const beyond = quantile(typical.map((line) => line.beyondUs).sort(ascending), 0.5);
  const cells = (line: Line): Row[] => [
    { what: `\`${line.name.replaceAll("|", "\\|")}\``, value: line.medianUs, unit: "µs median" },
    { what: "… of which the bare parse", value: line.parseUs, unit: "µs median" },
  ];
  return {
    title: "A verdict of the policy",
    method:
      "The whole judgement of one Bash call, in one process, against the bare parser (unbash) on the same text. Typical commands of a worker, and hostile texts of 10,000 characters.",
    rows: [
      ...typical.flatMap(cells),
      {
        what: "slowest of the hostile texts",
        value: Math.max(...worst.map((line) => line.medianUs)) / 1_000,
        unit: "ms median",
      },
    ],
    targets: [
      {
        what: "a typical command beyond the bare parse",
        value: beyond,
        limit: 10,
        kind: "at most",
        unit: "µs median",
        why: "Beyond the parse each simple command is unwrapped, its words become values, and its program's table judges them, with the real path of each file that it names.",
      },
    ],
  };
}

function ascending(a: number, b: number): number {
  return a - b;
}
