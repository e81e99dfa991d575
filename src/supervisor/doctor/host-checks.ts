/** The ground: Node, Pi, the programs that we run, and where Pi itself was started. */
import { execFile } from "node:child_process";
import { type Finding, fault, ok, warning } from "./finding.ts";
import type { DoctorHost } from "./host.ts";

const OLDEST_NODE = "20.17.0";
const OLDEST_GIT = "2.34.0";
const TOOL_MS = 3_000;

export function nodeCheck({ nodeVersion }: DoctorHost): Finding {
  return atLeast(nodeVersion, OLDEST_NODE)
    ? ok("node", `Node ${nodeVersion}.`)
    : fault(
        "node",
        `Node ${nodeVersion} runs Pi; at least ${OLDEST_NODE} is needed.`,
        "Install Node 22.19 or newer and start Pi with it.",
      );
}

export function piCheck({ piVersion }: DoctorHost): Finding {
  if (piVersion === null)
    return warning("pi", "Pi does not say its version.", "Update Pi: it runs on 0.73.1 and on 1.6.0.");
  return atLeast(piVersion, "0.73.0")
    ? ok("pi", `Pi ${piVersion}.`)
    : warning("pi", `Pi ${piVersion} is older than every tested one.`, "Update Pi to 0.73.1 or newer.");
}

/** Claude's own Bash tool sets it: then Pi was started by a Claude. */
export function nestingCheck({ env }: DoctorHost): Finding {
  if ((env["CLAUDECODE"] ?? "") === "") return ok("nesting", "Pi does not run inside another Claude Code.");
  return warning(
    "nesting",
    "CLAUDECODE is set: Pi was started from inside Claude Code. The worker does not get it, but whoever started Pi may end both.",
    "Start Pi from your own shell, or run: unset CLAUDECODE",
  );
}

export async function toolsCheck(host: DoctorHost): Promise<Finding[]> {
  const git = await versionOf("git", host);
  const tooOld = git !== null && !atLeast(git, OLDEST_GIT);
  const findings =
    git === null
      ? [
          warning(
            "git",
            "git can't be run: a verification can't bind its verdict to a tree.",
            "Install git 2.34 or newer.",
          ),
        ]
      : tooOld
        ? [warning("git", `git ${git} is older than ${OLDEST_GIT}.`, "Update git.")]
        : [ok("git", `git ${git}.`)];
  if (host.platform === "darwin") return findings;
  const flock = await versionOf("flock", host);
  return [
    ...findings,
    flock === null
      ? fault("flock", "flock can't be run: tasks could not be locked.", "Install util-linux.")
      : ok("flock", `flock of util-linux ${flock}.`),
  ];
}

function versionOf(program: string, { env }: DoctorHost): Promise<string | null> {
  const path = env["PATH"] ?? "";
  return new Promise((resolve) => {
    execFile(program, ["--version"], { timeout: TOOL_MS, env: { PATH: path, LC_ALL: "C" } }, (error, stdout) => {
      resolve(error === null ? (/(\d+\.\d+(?:\.\d+)?)/.exec(stdout)?.[1] ?? "of an unknown version") : null);
    });
  });
}

function atLeast(version: string, oldest: string): boolean {
  const parts = version.split(".").map(Number);
  for (const [index, least] of oldest.split(".").map(Number).entries()) {
    const part = parts[index] ?? 0;
    if (Number.isNaN(part)) return true;
    if (part !== least) return part > least;
  }
  return true;
}
