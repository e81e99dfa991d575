/** What a diagnosis looks at outside of itself; tests replace single looks. */
import { accessSync, constants, existsSync, statfsSync } from "node:fs";
import { dirname } from "node:path";
import { type CgroupMode, type ContainmentFacts, describeContainment } from "../../platform/containment/index.ts";
import { errnoOf } from "../../platform/errno.ts";
import type { Environment } from "../deps.ts";

export interface DoctorHost {
  env: Environment;
  /** Pi's agent folder. */
  agentDir: string | undefined;
  /** Root of the project whose own settings count. */
  trustedProject: string | undefined;
  /** Pi's folder: the trial start happens here. */
  cwd: string;
  piVersion: string | null;
  nodeVersion: string;
  platform: NodeJS.Platform;
  /** Type number of statfs(2), or undefined where it can't be told. */
  fileSystemType(path: string): number | undefined;
  /** Whether a folder that exists can be written. */
  writable(path: string): "yes" | "read-only" | "denied";
  containment(mode: CgroupMode): ContainmentFacts;
}

export function realHost(
  given: Pick<DoctorHost, "env" | "agentDir" | "trustedProject" | "cwd" | "piVersion">,
): DoctorHost {
  return {
    ...given,
    nodeVersion: process.versions.node,
    platform: process.platform,
    fileSystemType(path) {
      try {
        return statfsSync(path).type;
      } catch {
        return undefined; // nothing that a person could mend
      }
    },
    writable(path) {
      try {
        accessSync(path, constants.W_OK | constants.X_OK);
        return "yes";
      } catch (error) {
        return errnoOf(error) === "EROFS" ? "read-only" : "denied";
      }
    },
    containment: describeContainment,
  };
}

/** The path itself, or the nearest folder above it that exists. */
export function nearestExisting(path: string): string {
  let at = path;
  while (!existsSync(at) && dirname(at) !== at) at = dirname(at);
  return at;
}
