/** What containment can do here and now, for `doctor` and `status`. */
import { newMark } from "../process/mark.ts";
import { makeCgroup, removeCgroup } from "./cgroup.ts";
import type { CgroupMode } from "./spawn.ts";

export interface ContainmentFacts {
  kind: "cgroup" | "census";
  /** One or two sentences: what it rests on, what its limit is, and how to get more. */
  text: string;
}

const CENSUS_LIMIT =
  process.platform === "linux"
    ? "Processes are found by parentage, session, environment and an inherited limit; one that sheds all of these (a login through PAM) is not."
    : "Processes are found by parentage, process group and environment as `ps` shows them; one that leaves its parent and drops its environment is not.";

/** Makes and removes a cgroup to be sure. */
export function describeContainment(mode: CgroupMode): ContainmentFacts {
  if (mode === "off") return { kind: "census", text: `Cgroups are switched off. ${CENSUS_LIMIT}` };
  const made = makeCgroup(newMark().id);
  if (!made.ok) return { kind: "census", text: `${made.message} ${CENSUS_LIMIT}` };
  removeCgroup(made.path);
  return {
    kind: "cgroup",
    text: `A cgroup of its own holds each worker; the kernel kills it whole and proves it empty.`,
  };
}
