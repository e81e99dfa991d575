/** What Pi pays at its start for this extension, over an empty one: with Pi's cache of transpiled files, and without. */
import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { nodeFor, PACKAGE_ROOT, PI_LINES, type PiLine, skipReason } from "../test/support/pi-setup.ts";
import { type BenchOptions, inTurns, median, type Row, type Section, type Target } from "./bench/measure.ts";

const run_ = promisify(execFile);
const LOADER = fileURLToPath(new URL("./bench/load-extension.mjs", import.meta.url));
const PACKAGES: Readonly<Record<PiLine, string>> = {
  "0.73.1": "@mariozechner/pi-coding-agent",
  "1.6.0": "@earendil-works/pi-coding-agent",
};

const WARM =
  "Warm is reading and compiling the cached text of each file that the registrations reach; what only a command needs is not loaded.";
const COLD =
  "Cold is Pi's transpiler, at some 15 ms a file of those that the registrations reach; it happens once after an installation or an update.";

export async function run({ rounds, quick, log }: BenchOptions): Promise<Section> {
  const rows: Row[] = [];
  const targets: Target[] = [];
  const notes: string[] = [];
  const folder = await mkdtemp(join(tmpdir(), "pcs-bench-load-"));
  try {
    const empty = join(folder, "empty");
    await mkdir(empty);
    await writeFile(join(empty, "index.ts"), "export default function (_pi: unknown): void {}\n");
    const ours = join(folder, "ours");
    await mkdir(ours);
    for (const name of ["src", "package.json"])
      await cp(join(PACKAGE_ROOT, name), join(ours, name), { recursive: true });
    await symlink(join(PACKAGE_ROOT, "node_modules"), join(ours, "node_modules"));
    for (const line of PI_LINES) {
      const unable = await skipReason(line);
      if (unable !== undefined) {
        notes.push(`Pi ${line} was not measured: ${unable}`);
        continue;
      }
      // Targets are about the newer line; the older one is shown beside it.
      const warmRounds = quick ? 3 : line === "1.6.0" ? Math.max(rounds, 9) : rounds;
      log(`Pi ${line}, ${warmRounds} starts each way`);
      const node = await nodeFor(line);
      const start = async (extension: string, cache: string): Promise<number> => {
        await mkdir(cache, { recursive: true });
        const pi = join(PACKAGE_ROOT, "node_modules", PACKAGES[line], "dist", "core", "extensions", "loader.js");
        const env = { PATH: process.env["PATH"] ?? "", HOME: folder, TMPDIR: cache, PI_OFFLINE: "1" };
        const { stdout } = await run_(
          node,
          [LOADER, pi, join(extension, extension === empty ? "index.ts" : "src/index.ts")],
          { env, cwd: folder },
        );
        return Number(stdout);
      };
      const shared = join(folder, `cache-${line}`);
      for (const extension of [empty, ours]) await start(extension, shared);
      const warm = await inTurns(warmRounds, { empty: () => start(empty, shared), ours: () => start(ours, shared) });
      const fresh = (extension: string) => async (): Promise<number> => {
        const cache = await mkdtemp(join(folder, "cold-"));
        const took = await start(extension, cache);
        await rm(cache, { recursive: true, force: true });
        return took;
      };
      const cold = await inTurns(quick ? 2 : rounds, { empty: fresh(empty), ours: fresh(ours) });
      for (const [name, seen, limit] of [
        ["warm", warm, 15],
        ["cold", cold, 400],
      ] as const) {
        const [without, with_] = [median(seen["empty"] ?? []), median(seen["ours"] ?? [])];
        rows.push({ what: `Pi ${line}, ${name}: an empty extension`, value: without, unit: "ms" });
        rows.push({ what: `Pi ${line}, ${name}: this extension`, value: with_, unit: "ms" });
        if (line === "1.6.0")
          targets.push({
            what: `Pi ${line}, ${name}, over an empty extension`,
            value: with_ - without,
            limit,
            kind: "at most",
            unit: "ms",
            why: name === "warm" ? WARM : COLD,
          });
      }
    }
    return {
      title: "Loading in Pi",
      method:
        "Pi's own loader, in a process of its own, loads one extension; the time is that of its call. Warm has Pi's cache of transpiled files, cold an empty folder for it.",
      rows,
      targets,
      notes,
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
