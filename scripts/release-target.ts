/**
 * `node scripts/release-target.ts TAG MAIN REPOSITORY`: the commit that may be published as TAG, as `tag=…` and `sha=…`
 * lines for a workflow. Exit code 1 and the reason when the tag is not vX.Y.Z of that commit's package.json, is not on MAIN,
 * or the manifest does not name REPOSITORY (owner/name), which npm's provenance would refuse. Needs no package, so that
 * Node 24 runs it as it stands, before anything is installed.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { type Homed, homeProblem } from "./package/public-home.ts";

const [tag = "", main = "", repository = ""] = process.argv.slice(2);
const problem = problemOf();
if (problem !== undefined) {
  console.error(problem);
  process.exit(1);
}
console.log(`tag=${tag}\nsha=${commitOf(`refs/tags/${tag}`)}`);

function problemOf(): string | undefined {
  if (!/^v\d+\.\d+\.\d+$/.test(tag)) return `"${tag}" is not vX.Y.Z`;
  const commit = commitOf(`refs/tags/${tag}`);
  if (commit === undefined) return `there is no tag ${tag}`;
  if (commitOf(main) === undefined) return `there is no ${main}`;
  if (spawnSync("git", ["merge-base", "--is-ancestor", commit, main]).status !== 0) return `${tag} is not on ${main}`;
  const manifest = JSON.parse(git("show", `${commit}:package.json`)) as { version?: string } & Homed;
  if (`v${manifest.version}` !== tag) return `package.json of ${tag} says ${manifest.version}`;
  return homeProblem(manifest, repository);
}

function commitOf(name: string): string | undefined {
  const { status, stdout } = spawnSync("git", ["rev-parse", "--verify", "--quiet", `${name}^{commit}`], {
    encoding: "utf8",
  });
  return status === 0 ? stdout.trim() : undefined;
}

function git(...args: string[]): string {
  return execFileSync("git", args, { encoding: "utf8" });
}
