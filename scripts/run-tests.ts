/**
 * Runs the test levels of docs/testing.md: `run-tests [unit|process|e2e|soak]...`, default unit, process and e2e.
 * `unit` is everything that starts no process; `*.soak.ts` are the long proofs. Each level is one `node --test` run
 * through tsx, so that a level that fails names itself.
 */
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";

const LEVELS = {
  unit: { rooms: ["core", "policy", "redaction", "report", "package", "."], suffix: ".test.ts", concurrency: 2 },
  process: {
    rooms: [
      "platform",
      "store",
      "worker",
      "verifier",
      "decision",
      "control",
      "notify",
      "supervisor",
      "extension",
      "cli",
      "build",
    ],
    suffix: ".test.ts",
    concurrency: 2,
  },
  e2e: { rooms: ["e2e"], suffix: ".test.ts", concurrency: 2 },
  soak: {
    rooms: [
      "core",
      "policy",
      "redaction",
      "platform",
      "store",
      "worker",
      "verifier",
      "control",
      "supervisor",
      "package",
      "e2e",
    ],
    suffix: ".soak.ts",
    concurrency: 2,
  },
} as const;

type Level = keyof typeof LEVELS;

function filesOf(level: Level): string[] {
  const { rooms, suffix } = LEVELS[level];
  return rooms.flatMap((room) => {
    const folder = join("test", room);
    if (!existsSync(folder)) return [];
    return readdirSync(folder, { recursive: room !== ".", withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.name.endsWith(suffix))
      .map((entry) => join(entry.parentPath, entry.name))
      .sort();
  });
}

const asked = process.argv.slice(2);
const unknown = asked.filter((word) => !(word in LEVELS));
if (unknown.length > 0) {
  console.error(`Unknown test level "${unknown[0]}". Levels: ${Object.keys(LEVELS).join(", ")}.`);
  process.exit(2);
}
const levels = (asked.length > 0 ? asked : ["unit", "process", "e2e"]) as Level[];
let failed = false;
for (const level of levels) {
  const files = filesOf(level);
  if (files.length === 0) continue;
  console.log(`\n# ${level}: ${files.length} files`);
  const args = ["--import", "tsx", "--test", `--test-concurrency=${LEVELS[level].concurrency}`, ...files];
  const run = spawnSync(process.execPath, args, { stdio: "inherit" });
  if (run.status !== 0) failed = true;
}
process.exit(failed ? 1 : 0);
