/**
 * Running a test file once more as a normal user, from a run as root: for what depends on who we are. The checkout and
 * everything in it are read only then; HOME and TMPDIR are a folder of that user's.
 *
 *     const user = normalUser();
 *     test("…", { skip: user.skip ?? false }, async (t) => { const { output } = await runFileAs(t, user, import.meta.url, env); … });
 */
import assert from "node:assert/strict";
import { execFile, execFileSync } from "node:child_process";
import { statSync } from "node:fs";
import { cp, mkdir, mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { cacheFolder } from "../support/cache.ts";
import { PACKAGE_ROOT } from "../support/pi-setup.ts";

export interface NormalUser {
  name: string;
  uid: number;
  /** Words before a command that run it as this user: ids, and no groups. */
  become: readonly string[];
  /** Why there is none to become. */
  skip?: string;
}

/** `nobody`, when we are root and can become it. */
export function normalUser(): NormalUser {
  const none = { name: "nobody", uid: -1, become: [] };
  if (process.getuid?.() !== 0) return { ...none, skip: "this run is one of a normal user" };
  try {
    const [uid, gid] = ["-u", "-g"].map((flag) => Number(execFileSync("id", [flag, none.name], { encoding: "utf8" })));
    const become = ["setpriv", `--reuid=${uid}`, `--regid=${gid}`, "--clear-groups", "--"];
    const user = { ...none, uid: uid ?? -1, become };
    for (const words of privatePart(PACKAGE_ROOT) === undefined ? [[]] : [["unshare", "--mount"], []]) {
      const [file = "", ...args] = [...words, ...become, "true"];
      execFileSync(file, args, { stdio: "ignore" });
    }
    return user;
  } catch {
    return { ...none, skip: `setpriv can't become ${none.name} here, or the checkout can't be shown to it` };
  }
}

/** Rejects with the output when a test of the file fails. */
export async function runFileAs(
  t: { after(fn: () => Promise<void>): void },
  user: NormalUser,
  url: string,
  env: Readonly<Record<string, string>>,
): Promise<{ output: string }> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "pcs-user-")));
  t.after(() => rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 }));
  // The extension as Pi has transpiled it already; a first load anew takes ten seconds and more.
  const cache = join(folder, `pi-claude-supervisor-test-cache-${user.uid}`, "jiti-0.73.1");
  await cp(join(cacheFolder(), "jiti-0.73.1"), cache, { recursive: true, force: true }).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  });
  execFileSync("chown", ["-R", String(user.uid), folder]);
  const stage = join(folder, "stage");
  await mkdir(stage);

  const test = [process.execPath, "--import", "tsx", "--test", "--test-reporter=spec", fileURLToPath(url)];
  const [file = "", ...args] = [...shown(stage), ...user.become, ...test];
  return new Promise((resolve, reject) => {
    execFile(
      file,
      args,
      {
        cwd: PACKAGE_ROOT,
        // Without NODE_TEST_CONTEXT, which would make it report to our own parent.
        env: { PATH: process.env.PATH ?? "/usr/bin:/bin", HOME: folder, TMPDIR: folder, ...env },
        maxBuffer: 16 * 1024 * 1024,
      },
      (error, stdout, stderr) => {
        const output = `${stdout}${stderr}`;
        if (error) reject(new assert.AssertionError({ message: output, operator: "fail" }));
        else resolve({ output });
      },
    );
  });
}

/** The topmost folder on the way to `path` that other users can't pass; `undefined` when they can read it all. */
function privatePart(path: string): string | undefined {
  const way = [path];
  for (let at = path; at !== dirname(at); at = dirname(at)) way.unshift(dirname(at));
  return way.find((folder) => (statSync(folder).mode & 0o005) !== 0o005);
}

/**
 * Words that show a private checkout at its own path to everyone, in a mount namespace of the command alone: the private
 * folder is covered, and each entry of the checkout bound into the cover. Nothing outside sees any of it.
 */
function shown(stage: string): string[] {
  const cover = privatePart(PACKAGE_ROOT);
  if (cover === undefined) return [];
  const script = `set -e
root=$1 cover=$2 stage=$3
shift 3
mount --bind "$root" "$stage"
mount -t tmpfs -o mode=755 none "$cover"
mkdir -p "$root"
for each in "$stage"/*; do
  at=$root/\${each##*/}
  if [ -d "$each" ]; then mkdir "$at"; else : >"$at"; fi
  mount --bind "$each" "$at"
done
cd "$root"
exec "$@"`;
  return ["unshare", "--mount", "sh", "-c", script, "sh", PACKAGE_ROOT, cover, stage];
}
