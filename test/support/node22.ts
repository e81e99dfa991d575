/**
 * A Node for the Pi line 1.6.0, which needs 22.19 or newer. The running one when it is new enough, else one from npm
 * (`node-<platform>-<arch>@22`), fetched once into a cache folder and shared by all test files. When none can be had, the
 * reason, to be shown as the reason of the skip.
 *
 *     const node22 = await findNode22();
 *     test("…", { skip: node22.ok ? false : node22.reason }, …);
 */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { cacheFolder } from "./cache.ts";

const run = promisify(execFile);

export type Node22 = { ok: true; path: string; version: string } | { ok: false; reason: string };

/** Milliseconds for the download (about 50 MB), and for waiting for another process that downloads. */
const FETCH_MS = 120_000;
const POLL_MS = 200;
/** A failed download is not tried again for so long, so that an offline machine loses its time once. */
const FAILURE_KEPT_MS = 10 * 60_000;

let found: Promise<Node22> | undefined;

/** Bounded by about 4 minutes in the worst case (another process's download, then our own); usually a few ms. */
export function findNode22(): Promise<Node22> {
  found ??= find();
  return found;
}

/** True for 22.19 and above. */
export function isNewEnough(version: string): boolean {
  const [major = 0, minor = 0] = version.replace(/^v/, "").split(".").map(Number);
  return major > 22 || (major === 22 && minor >= 19);
}

async function find(): Promise<Node22> {
  if (isNewEnough(process.version)) return { ok: true, path: process.execPath, version: process.version };
  let unlock = async (): Promise<void> => undefined;
  try {
    const cache = cacheFolder();
    const binary = join(cache, "node22", "bin", "node");
    const cached = await usable(binary);
    if (cached) return cached;
    unlock = await lock(join(cache, "node22.lock"), () => existsSync(binary));
    return (await usable(binary)) ?? (await fetchOnce(cache, binary));
  } catch (error) {
    return { ok: false, reason: `no Node >= 22.19 for Pi 1.6.0: ${firstLine(error)}` };
  } finally {
    await unlock();
  }
}

async function usable(path: string): Promise<Node22 | undefined> {
  if (!existsSync(path)) return undefined;
  try {
    const { stdout } = await run(path, ["--version"], { timeout: 20_000 });
    const version = stdout.trim();
    return isNewEnough(version) ? { ok: true, path, version } : undefined;
  } catch {
    return undefined; // for instance built for another libc: fetching again or skipping will say so
  }
}

async function fetchOnce(cache: string, binary: string): Promise<Node22> {
  const failed = join(cache, "node22.failed");
  const known = await stat(failed).catch(() => undefined);
  if (known && Date.now() - known.mtimeMs < FAILURE_KEPT_MS) {
    return { ok: false, reason: await readFile(failed, "utf8") };
  }
  const name = `node-${process.platform}-${process.arch}`;
  const work = await mkdtemp(join(cache, "fetch-"));
  try {
    await writeFile(join(work, "package.json"), '{"private":true}\n');
    const flags = [
      "--no-save",
      "--no-package-lock",
      "--ignore-scripts",
      "--no-audit",
      "--no-fund",
      "--fetch-retries=1",
    ];
    await run("npm", ["install", ...flags, `${name}@22`], { cwd: work, timeout: FETCH_MS, killSignal: "SIGKILL" });
    const target = dirname(dirname(binary));
    await rm(target, { recursive: true, force: true });
    const moved = await rename(join(work, "node_modules", name), target).then(
      () => undefined,
      (error: unknown) => error,
    );
    const result = await usable(binary);
    if (result) return result;
    throw moved ?? new Error(`${name}@22 from npm does not run here`);
  } catch (error) {
    const reason = `no Node >= 22.19 for Pi 1.6.0: running ${process.version}, and npm's ${name}@22 failed: ${npmSays(error)}`;
    await writeFile(failed, reason);
    return { ok: false, reason };
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/**
 * One process at a time. The lock is a folder (mkdir is atomic) that holds its owner's pid; one whose owner is gone is
 * broken. Waiting ends early when `done` says that the owner's work is there.
 */
async function lock(path: string, done: () => boolean): Promise<() => Promise<void>> {
  const end = Date.now() + FETCH_MS;
  for (;;) {
    try {
      await mkdir(path);
      await writeFile(join(path, "pid"), String(process.pid));
      return () => rm(path, { recursive: true, force: true });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
    if (done()) return async () => undefined;
    const owner = Number(await readFile(join(path, "pid"), "utf8").catch(() => "0"));
    const age = Date.now() - ((await stat(path).catch(() => undefined))?.mtimeMs ?? Date.now());
    const abandoned = owner > 0 ? !pidExists(owner) : age > 5_000;
    // Renamed away first: of several processes that see it abandoned only one gets to remove it.
    if (abandoned) {
      const grave = `${path}.${process.pid}`;
      await rename(path, grave).then(
        () => rm(grave, { recursive: true, force: true }),
        () => undefined,
      );
    } else if (Date.now() > end) {
      throw new Error(`another process holds ${path}`);
    } else {
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  }
}

function pidExists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/** npm's own words where it has some: its "Command failed" message names only the command. */
function npmSays(error: unknown): string {
  const stderr = (error as { stderr?: unknown }).stderr;
  const lines = typeof stderr === "string" ? stderr.split("\n").filter((line) => line.trim() !== "") : [];
  return lines.length > 0 ? lines.slice(0, 3).join("; ").slice(0, 300) : firstLine(error);
}

function firstLine(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return (text.split("\n").find((line) => line.trim() !== "") ?? "unknown").slice(0, 300);
}
