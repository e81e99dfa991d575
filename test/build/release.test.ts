// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the shell's and npm's own variables
/** What may be published, as which version, and how: against real git repositories and a stand-in for npm. */
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join, resolve } from "node:path";
import { after, before, describe, test } from "node:test";

const ROOT = resolve(import.meta.dirname, "../..");
let folder = "";
before(() => {
  folder = mkdtempSync(join(tmpdir(), "pcs-release-"));
});
after(() => rmSync(folder, { recursive: true, force: true }));

function script(name: string, args: string[], options: { cwd: string; env?: Record<string, string> }) {
  const env = { PATH: process.env["PATH"] ?? "", HOME: folder, TMPDIR: folder, ...options.env };
  const argv = ["--import", import.meta.resolve("tsx"), join(ROOT, "scripts", name), ...args];
  return spawnSync(process.execPath, argv, { cwd: options.cwd, env, encoding: "utf8" });
}

describe("the target of a release", () => {
  let repo = "";
  const git = (...args: string[]): string => execFileSync("git", args, { cwd: repo, encoding: "utf8" }).trim();
  const commit = (manifest: object, message: string): void => {
    writeFileSync(join(repo, "package.json"), JSON.stringify(manifest));
    git("add", "-A");
    git("-c", "user.name=a", "-c", "user.email=a@example.invalid", "commit", "-q", "-m", message);
  };
  const home = {
    repository: { type: "git", url: "git+https://git.example.invalid/owner/name.git" },
    bugs: { url: "https://git.example.invalid/owner/name/issues" },
    homepage: "https://git.example.invalid/owner/name#readme",
  };

  before(() => {
    repo = join(folder, "repo");
    mkdirSync(repo);
    git("init", "-q", "-b", "main");
    commit({ version: "0.9.0" }, "no repository yet");
    git("tag", "v0.9.0");
    commit({ version: "0.9.1", repository: home.repository }, "half of it");
    git("tag", "v0.9.1");
    commit({ version: "0.9.2", ...home, repository: "nowhere" }, "no address");
    git("tag", "v0.9.2");
    commit({ version: "1.0.0", ...home }, "one");
    git("tag", "v1.0.0");
    git("tag", "v1.0.1");
    git("tag", "1.0.0");
    git("checkout", "-q", "-b", "side");
    commit({ version: "2.0.0", ...home }, "not on main");
    git("tag", "v2.0.0");
    git("checkout", "-q", "main");
    commit({ version: "1.1.0", ...home }, "two");
    git("-c", "user.name=a", "-c", "user.email=a@example.invalid", "tag", "-a", "-m", "annotated", "v1.1.0");
    git("branch", "v1.0.0"); // a branch of a tag's name must not be taken for it
    commit({ version: "1.1.1", ...home }, "after");
  });

  for (const tag of ["v1.0.0", "v1.1.0"]) {
    test(`is the commit of ${tag}`, () => {
      const ran = script("release-target.ts", [tag, "main", "owner/name"], { cwd: repo });
      assert.equal(ran.status, 0, ran.stderr);
      assert.equal(ran.stdout, `tag=${tag}\nsha=${git("rev-parse", `refs/tags/${tag}^{commit}`)}\n`);
    });
  }

  const refused: readonly (readonly [string, string, RegExp])[] = [
    ["v9.0.0", "owner/name", /no tag/],
    ["1.0.0", "owner/name", /not vX\.Y\.Z/],
    ["v1.0", "owner/name", /not vX\.Y\.Z/],
    ["v1.0.0;ls", "owner/name", /not vX\.Y\.Z/],
    ["main", "owner/name", /not vX\.Y\.Z/],
    ["", "owner/name", /not vX\.Y\.Z/],
    ["v1.0.1", "owner/name", /package\.json of v1\.0\.1 says 1\.0\.0/],
    ["v2.0.0", "owner/name", /not on main/],
    ["v1.0.0", "fork/name", /provenance/],
    ["v0.9.0", "owner/name", /has no repository, bugs, homepage, .* npm pkg set .*owner\/name\.git/],
    ["v0.9.1", "owner/name", /has no bugs, homepage/],
    ["v0.9.2", "owner/name", /no owner\/name address/],
  ];
  for (const [tag, name, said] of refused) {
    test(`"${tag}" of ${name} is refused: ${said.source}`, () => {
      const ran = script("release-target.ts", [tag, "main", name], { cwd: repo });
      assert.deepEqual([ran.status, ran.stdout], [1, ""]);
      assert.match(ran.stderr, said);
    });
  }
});

describe("publishing", () => {
  const commit = "c".repeat(40);
  const token = `npm-${randomBytes(12).toString("hex")}`;
  let dist = "";
  let integrity = "";

  before(() => {
    dist = join(folder, "dist");
    mkdirSync(dist);
    const archive = randomBytes(64);
    integrity = `sha512-${createHash("sha512").update(archive).digest("base64")}`;
    writeFileSync(join(dist, "x-1.2.3.tgz"), archive);
    const manifest = { name: "x", version: "1.2.3", archive: "x-1.2.3.tgz", commit, integrity };
    writeFileSync(join(dist, "release-manifest.json"), JSON.stringify(manifest));
  });

  /** A stand-in for npm that notes how it was called; `view` answers what is published. */
  function publish(name: string, env: Record<string, string>, view = "exit 1", sha = commit) {
    const cwd = join(folder, name);
    const npm = join(cwd, "npm");
    mkdirSync(cwd);
    const lines = [
      "#!/bin/sh",
      'case "$1" in',
      `view) ${view === "exit 1" ? "echo 'npm error code E404' >&2; exit 1" : view} ;;`,
      "config) echo https://npm.example.invalid/ ;;",
      'publish) echo "$@" >called; for word; do case "$word" in --userconfig=*) cp "${word#*=}" config ;; esac; done ;;',
      "esac",
    ];
    writeFileSync(npm, `${lines.join("\n")}\n`, { mode: 0o755 });
    const path = [cwd, process.env["PATH"]].join(delimiter);
    const ran = script("release-publish.ts", [dist, sha], { cwd, env: { PATH: path, ...env } });
    const called = join(cwd, "called");
    return {
      ...ran,
      called: existsSync(called) ? readFileSync(called, "utf8") : "",
      config: existsSync(join(cwd, "config")) ? readFileSync(join(cwd, "config"), "utf8") : "",
    };
  }

  test("by OpenID hands npm the tested archive, with provenance and without any token", () => {
    const ran = publish("oidc", { NPM_AUTH_MODE: "oidc" });
    assert.equal(ran.status, 0, ran.stderr);
    assert.match(ran.called, /^publish \S+\/dist\/x-1\.2\.3\.tgz --provenance --access=public --tag=latest /);
    assert.equal(ran.config, "");
  });

  test("by token names the variable in npm's configuration, never its value", () => {
    const ran = publish("token", { NPM_AUTH_MODE: "token", NPM_TOKEN: token });
    assert.equal(ran.status, 0, ran.stderr);
    assert.equal(ran.config, "//npm.example.invalid/:_authToken=${NPM_TOKEN}\n");
    assert.ok(![ran.called, ran.stdout, ran.stderr].join().includes(token));
  });

  test("what is there with the same bytes is left as it is", () => {
    const ran = publish("again", { NPM_AUTH_MODE: "oidc" }, `echo "${integrity}"`);
    assert.deepEqual([ran.status, ran.called], [0, ""], ran.stderr);
  });

  const refused: readonly (readonly [string, Record<string, string>, string, string, RegExp])[] = [
    ["other bytes under this version", { NPM_AUTH_MODE: "oidc" }, "echo sha512-other", commit, /other bytes/],
    [
      "a registry that does not answer",
      { NPM_AUTH_MODE: "oidc" },
      "echo EAI_AGAIN >&2; exit 1",
      commit,
      /npm view failed/,
    ],
    ["another commit", { NPM_AUTH_MODE: "oidc" }, "exit 1", "d".repeat(40), /is of commit/],
    ["no commit", { NPM_AUTH_MODE: "oidc" }, "exit 1", "", /is of commit/],
    ["no mode", {}, "exit 1", commit, /oidc or token/],
    ["an unknown mode", { NPM_AUTH_MODE: "password" }, "exit 1", commit, /oidc or token/],
    ["token mode without a token", { NPM_AUTH_MODE: "token" }, "exit 1", commit, /NPM_TOKEN is empty/],
    ["OpenID beside a token", { NPM_AUTH_MODE: "oidc", NPM_TOKEN: "x" }, "exit 1", commit, /there is an NPM_TOKEN/],
  ];
  for (const [index, [what, env, view, sha, said]] of refused.entries()) {
    test(`with ${what} publishes nothing`, () => {
      const ran = publish(`refused-${index}`, env, view, sha);
      assert.notEqual(ran.status, 0);
      assert.equal(ran.called, "");
      assert.match(ran.stderr, said);
    });
  }

  test("an archive that is not the manifest's is refused", () => {
    writeFileSync(join(dist, "x-1.2.3.tgz"), "changed");
    const ran = publish("changed", { NPM_AUTH_MODE: "oidc" });
    assert.deepEqual([ran.status, ran.called], [1, ""]);
    assert.match(ran.stderr, /not the one that its manifest describes/);
  });
});
