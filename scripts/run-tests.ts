/**
 * Runs the test levels of docs/testing.md: `run-tests [unit|process|e2e|recent|soak|earlier]...`, default unit, process,
 * e2e and recent. `unit` is everything that starts no process; `*.soak.ts` are the long proofs. `recent` and `earlier` are
 * the files that repeat themselves for each line of Pi, on the one line and on the other. Each level is one
 * `node --test` run through tsx, so that a level that fails names itself.
 */
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";

const UNIT = ["core", "policy", "redaction", "report", "package", "."];
const PROCESS = [
  ...["platform", "store", "worker", "verifier", "decision", "control"],
  ...["notify", "supervisor", "extension", "cli", "build"],
];

/** Files that tell the same story on each line of Pi: `npm test` has it from the recent line, `npm run test:soak` from the other. */
const ON_EACH_LINE = new Set([
  ...["decides", "faults", "reviews"].map((name) => join("test", "decision", `pi-${name}.test.ts`)),
  join("test", "extension", "tui-takeover.test.ts"),
  ...[
    "deferral",
    "deferral-kinds",
    "pipe",
    "recover",
    "review",
    "secrets",
    "session",
    "takeover",
    "what-must-not-happen",
  ].map((name) => join("test", "e2e", `${name}.test.ts`)),
]);

interface LevelSpec {
  rooms: readonly string[];
  suffix: ".test.ts" | ".soak.ts";
  /** The line of Pi for the files of ON_EACH_LINE, which only such a level runs. */
  line?: string;
}

const LEVELS = {
  unit: { rooms: UNIT, suffix: ".test.ts" },
  process: { rooms: PROCESS, suffix: ".test.ts" },
  e2e: { rooms: ["e2e"], suffix: ".test.ts" },
  recent: { rooms: [...PROCESS, "e2e"], suffix: ".test.ts", line: "1.6.0" },
  soak: { rooms: [...UNIT, ...PROCESS, "e2e"], suffix: ".soak.ts" },
  earlier: { rooms: [...PROCESS, "e2e"], suffix: ".test.ts", line: "0.73.1" },
} satisfies Record<string, LevelSpec>;

/** Files at a time, on two cores: most of them wait for other processes now and then; a long proof keeps a core busy. */
const AT_ONCE = { ".test.ts": 3, ".soak.ts": 2 } as const;

type Level = keyof typeof LEVELS;

function filesOf(level: Level): string[] {
  const { rooms, suffix, line }: LevelSpec = LEVELS[level];
  const files = rooms.flatMap((room) => {
    const folder = join("test", room);
    if (!existsSync(folder)) return [];
    return readdirSync(folder, { recursive: room !== ".", withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.name.endsWith(suffix))
      .map((entry) => join(entry.parentPath, entry.name))
      .sort();
  });
  return files.filter((file) => ON_EACH_LINE.has(file) === (line !== undefined));
}

for (const file of ON_EACH_LINE) if (!existsSync(file)) throw new Error(`${file} is listed here and does not exist.`);
const asked = process.argv.slice(2);
const unknown = asked.filter((word) => !(word in LEVELS));
if (unknown.length > 0) {
  console.error(`Unknown test level "${unknown[0]}". Levels: ${Object.keys(LEVELS).join(", ")}.`);
  process.exit(2);
}
const levels = (asked.length > 0 ? asked : ["unit", "process", "e2e", "recent"]) as Level[];
let failed = false;
for (const level of levels) {
  const files = filesOf(level);
  if (files.length === 0) continue;
  console.log(`\n# ${level}: ${files.length} files`);
  const { line, suffix }: LevelSpec = LEVELS[level];
  const args = ["--import", "tsx", "--test", `--test-concurrency=${AT_ONCE[suffix]}`, ...files];
  const env = line === undefined ? process.env : { ...process.env, TEST_PI_LINES: line };
  const run = spawnSync(process.execPath, args, { stdio: "inherit", env });
  if (run.status !== 0) failed = true;
}
process.exit(failed ? 1 : 0);
