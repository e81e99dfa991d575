/** A verifier in a lab, a redactor that hides one value made at run time, and short ways to say what is expected. */
import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, copyFile, mkdir, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Redactor } from "../../src/core/contracts/redaction.ts";
import type { VerifyReport, VerifySpec } from "../../src/core/contracts/verifier.ts";
import { createVerifier, type FreezeInput, freezeVerification, type VerifyOptions } from "../../src/verifier/index.ts";
import type { Lab } from "../support/workspace.ts";

const run = promisify(execFile);

/** Hides `secret` wherever it is cut; holds back at most its length. */
export function hiding(secret: string): Redactor {
  const text = (value: string) => value.replaceAll(secret, "[hidden]");
  return {
    text,
    data: (value) => JSON.parse(text(JSON.stringify(value))),
    hasSecret: (value) => value.includes(secret),
    stream() {
      let held = "";
      return {
        push(chunk) {
          const all = text(held + chunk);
          const keep = Math.min(all.length, secret.length - 1);
          held = all.slice(all.length - keep);
          return all.slice(0, all.length - keep);
        },
        end() {
          const rest = held;
          held = "";
          return rest;
        },
      };
    },
  };
}

export interface Bench {
  scratchDir: string;
  spec(cwd: string, commands: string | string[], more?: Partial<FreezeInput>): Promise<VerifySpec>;
  verify(spec: VerifySpec, options?: Partial<VerifyOptions>): Promise<VerifyReport>;
  /** Freezes and verifies in the workspace. */
  check(
    cwd: string,
    commands: string | string[],
    more?: Partial<FreezeInput>,
    options?: Partial<VerifyOptions>,
  ): Promise<VerifyReport>;
}

/** Everything that it starts carries the lab's mark. */
export function bench(lab: Lab, scratchDir = join(lab.root, "scratch")): Bench {
  const verifier = createVerifier({ scratchDir, hostEnv: lab.env });
  const made: Bench = {
    scratchDir,
    async spec(cwd, commands, more = {}) {
      const frozen = await freezeVerification({
        commands: typeof commands === "string" ? [commands] : commands,
        cwd,
        where: "workspace",
        envNames: ["E2E_MARK"],
        ...more,
      });
      if (!frozen.ok) throw new Error(`${frozen.reason}: ${frozen.message}`);
      return frozen.spec;
    },
    verify: (spec, options = {}) => verifier.verify(spec, { redactor: hiding("nothing-to-hide"), ...options }),
    async check(cwd, commands, more, options) {
      return made.verify(await made.spec(cwd, commands, more), options);
    },
  };
  return made;
}

/** An executable file; its folder is made. */
export async function script(path: string, text: string, mode = 0o755): Promise<string> {
  await mkdir(join(path, ".."), { recursive: true });
  await writeFile(path, text);
  await chmod(path, mode);
  return path;
}

/**
 * `git add -A && git write-tree` with a copy of the index: what the contract says a tree id is. The copy is made older
 * than its source, because git trusts a file that is older than the index (a plain copy misses edits of the same tick; time 0 would mean "unknown").
 */
export async function plainTree(lab: Lab, cwd: string): Promise<string> {
  const gitDir = (await lab.git(cwd, "rev-parse", "--absolute-git-dir")).trim();
  const index = join(lab.root, `plain-${randomUUID()}`);
  if (existsSync(join(gitDir, "index"))) {
    await copyFile(join(gitDir, "index"), index);
    await utimes(index, 1, 1);
  }
  const env = { ...lab.env, GIT_INDEX_FILE: index };
  await run("git", ["add", "-A"], { cwd, env });
  return (await run("git", ["write-tree"], { cwd, env })).stdout.trim();
}
