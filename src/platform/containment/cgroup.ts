/**
 * cgroup v2, by its files (kernel documentation `admin-guide/cgroup-v2`): where it is mounted, where we are in it, and
 * what can be done to a folder of ours. `cgroup.kill` came with Linux 5.14; an older kernel counts as having no usable
 * cgroup.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { failure, type Result } from "../../core/result.ts";
import { errnoOf } from "../errno.ts";

const NAME = /^pi-claude-supervisor-[0-9a-f]{32}$/;

/** The folder of a tree's cgroup below `base`, named after the tree's id. */
export function cgroupFolder(base: string, id: string): string {
  return join(base, `pi-claude-supervisor-${id}`);
}

/** Our own place in the cgroup v2 hierarchy, below which children are made. */
export function ownCgroup(
  mountinfo = readText("/proc/self/mountinfo"),
  membership = readText("/proc/self/cgroup"),
): Result<{ path: string }> {
  const mount = findMount(mountinfo);
  if (mount === undefined) return failure("no-cgroup", "No cgroup v2 is mounted on this system.");
  // Hybrid systems list v1 hierarchies too; v2 is always number 0 with no controller names.
  const own = /^0::(\/.*)$/m.exec(membership)?.[1];
  if (own === undefined) return failure("no-cgroup", "This process is in no cgroup v2.");
  // With a mount of a part of the hierarchy (containers), only paths below that part can be reached.
  const inside =
    mount.root === "/"
      ? own
      : own === mount.root
        ? "/"
        : own.startsWith(`${mount.root}/`) && own.slice(mount.root.length);
  if (inside === false || inside.startsWith("/..")) {
    return failure("no-cgroup", "The cgroup of this process lies outside the part of cgroup v2 that is mounted here.");
  }
  return { ok: true, path: resolve(join(mount.point, inside)) };
}

/** Makes a fresh folder for one tree. Nothing of it is left behind on failure. */
export function makeCgroup(id: string): Result<{ path: string }> {
  const own = ownCgroup();
  if (!own.ok) return own;
  const path = cgroupFolder(own.path, id);
  try {
    mkdirSync(path);
  } catch (error) {
    return failure(
      "no-cgroup",
      `A cgroup can't be made below ${own.path} (${errnoOf(error)}): it is not delegated to this user.`,
    );
  }
  if (existsSync(join(path, "cgroup.kill"))) return { ok: true, path };
  removeCgroup(path);
  return failure("no-cgroup", "This kernel has no cgroup.kill; it came with Linux 5.14.");
}

/** Is this recorded path one that only we can have made? Anything else is never killed. */
export function isOurCgroup(path: string): boolean {
  return path === join("/", path) && NAME.test(basename(path));
}

export type CgroupState = "populated" | "empty" | "gone" | "unknown";

/** `gone` only when the parent is still a readable cgroup: a folder can be removed only when nothing lives in it. */
export function cgroupState(path: string): CgroupState {
  try {
    const populated = /^populated ([01])$/m.exec(readFileSync(join(path, "cgroup.events"), "latin1"))?.[1];
    return populated === undefined ? "unknown" : populated === "1" ? "populated" : "empty";
  } catch (error) {
    const code = errnoOf(error);
    if (code !== "ENOENT" && code !== "ENODEV") return "unknown";
    return existsSync(join(dirname(path), "cgroup.procs")) && !existsSync(path) ? "gone" : "unknown";
  }
}

/** Pids in it and in everything below it; zombies are not listed. Empty when it cannot be read. */
export function cgroupPids(path: string): number[] {
  const pids = readText(join(path, "cgroup.procs")).split("\n").filter(Boolean).map(Number);
  return [...pids, ...childCgroups(path).flatMap(cgroupPids)];
}

/** SIGKILL for everything in it and below, forks in progress included. False when it could not be asked. */
export function killCgroup(path: string): boolean {
  try {
    writeFileSync(join(path, "cgroup.kill"), "1");
    return true;
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return false;
  }
}

/** Removes it and the cgroups made inside it. True when it is not there afterwards. */
export function removeCgroup(path: string): boolean {
  for (const child of childCgroups(path)) removeCgroup(child);
  try {
    rmdirSync(path);
    return true;
  } catch (error) {
    const code = errnoOf(error);
    if (code === undefined) throw error;
    return code === "ENOENT";
  }
}

function childCgroups(path: string): string[] {
  try {
    return readdirSync(path, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map((entry) => join(path, entry.name));
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return [];
  }
}

/** Fields of proc_pid_mountinfo(5): id, parent, device, root, mount point, options, optional fields, `-`, type. */
function findMount(mountinfo: string): { root: string; point: string } | undefined {
  for (const line of mountinfo.split("\n")) {
    const [before, after] = line.split(" - ");
    const [, , , root, point] = (before ?? "").split(" ");
    if (after?.startsWith("cgroup2 ") && root !== undefined && point !== undefined) {
      return { root: unescapeOctal(root), point: unescapeOctal(point) };
    }
  }
  return undefined;
}

/** Blanks in mount paths are written as \040. */
function unescapeOctal(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return "";
  }
}
