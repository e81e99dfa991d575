// biome-ignore-all lint/suspicious/noTemplateCurlyInString: GitHub's expressions
/** Our workflows keep the rules, and each rule notices when it is broken. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, test } from "node:test";
import { pins, workflowProblems } from "../../scripts/package/workflows.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const FOLDER = join(ROOT, ".github", "workflows");
const FILES: Readonly<Record<string, string>> = {
  ...Object.fromEntries(readdirSync(FOLDER).map((name) => [name, readFileSync(join(FOLDER, name), "utf8")])),
  "dependabot.yml": readFileSync(join(ROOT, ".github", "dependabot.yml"), "utf8"),
};
const { scripts, version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
  scripts: Record<string, string>;
  version: string;
};

/** The files with one text replaced; fails when the text is not there, so that no line of the table goes stale. */
function broken(file: string, from: string | RegExp, to: string): Record<string, string> {
  const text = FILES[file] ?? "";
  const changed = text.replace(from, () => to);
  assert.notEqual(changed, text, `${from} does not stand in ${file}`);
  return { ...FILES, [file]: changed };
}

/** [what is wrong, file, text, its replacement, what is said]. */
const BROKEN: readonly (readonly [string, string, string | RegExp, string, RegExp])[] = [
  ["an action by tag", "ci.yml", /@[0-9a-f]{40} # v4\.2\.2/, "@v4", /not pinned/],
  ["a commit without its version", "ci.yml", / # v4\.2\.2/, "", /not pinned/],
  ["a script that does not exist", "ci.yml", "npm run test:pi", "npm run test:pie", /test:pie does not exist/],
  ["permissions for all jobs", "ci.yml", "permissions: {}", "permissions:\n  contents: write", /whole workflow/],
  ["a job that may write", "ci.yml", "contents: read", "contents: write", /may write contents/],
  ["a job without permissions", "ci.yml", /permissions:\n {6}contents: read/, "env: {}", /states no permissions/],
  ["a job without a limit", "ci.yml", /timeout-minutes: \d+/, "continue-on-error: false", /no timeout/],
  ["a token in the checkout", "ci.yml", "persist-credentials: false", "persist-credentials: true", /git's token/],
  ["a title in a script", "pr-title.yml", '"$TITLE"', '"${{ github.event.pull_request.title }}"', /into a script/],
  ["other people's code with our secrets", "pr-title.yml", "pull_request:", "pull_request_target:", /with the secrets/],
  ["no tests on Node 26", "ci.yml", "{ node: 26, npm: 12 }", "{ node: 24, npm: 12 }", /Node 26/],
  ["no tests with npm 10", "ci.yml", /npm: 10 \}/g, "npm: 11 }", /npm 10/],
  ["no tests on both lines of Pi", "ci.yml", "- run: npm run test:pi", "- run: npm run test:unit", /test:pi/],
  ["no long proofs", "ci.yml", "- run: npm run test:soak", "- run: npm run test:unit", /test:soak/],
  ["no scripted tasks", "ci.yml", "- run: npm run tasks", "- run: npm run demo", /npm run tasks/],
  ["no audit", "ci.yml", "- run: npm audit --audit-level=high", "- run: npm audit --audit-level=critical", /npm audit/],
  ["a gate that skips", "ci.yml", "${{ always() }}", "${{ success() }}", /counts as passed/],
  ["a gate that forgets a job", "ci.yml", "install, audit, package]", "install, package]", /does not need exactly/],
  [
    "a gate that lets a skipped job pass",
    "ci.yml",
    '"success success success',
    '"skipped success success',
    /compare every/,
  ],
  ["a gate of another name", "ci.yml", "name: Quality gate", "name: Gate", /no job Quality gate/],
  ["a CI that cannot be called", "ci.yml", "workflow_call:", "workflow_dispatch:", /cannot be called/],
  ["a release without CI", "release.yml", "needs: [target, ci]", "needs: [target]", /publishes without CI/],
  [
    "a release after a red CI",
    "release.yml",
    "needs.ci.result == 'success'",
    "needs.ci.result != ''",
    /did not succeed/,
  ],
  ["CI of another commit", "release.yml", "ref: ${{ needs.target.outputs.sha }}", "ref: main", /tag's commit/],
  ["no environment", "release.yml", "environment: npm", "environment: github", /environment npm/],
  ["no provenance", "release.yml", "id-token: write", "id-token: none", /cannot prove/],
  [
    "provenance for another job",
    "release.yml",
    /attach:[\s\S]*?contents: write/,
    "attach:\n    permissions:\n      id-token: write",
    /attach may write id-token/,
  ],
  ["a tag that nobody checks", "release.yml", "release-target.ts", "release-list.ts", /tag is not checked/],
  [
    "a package that CI has not seen",
    "release.yml",
    "node scripts/release-publish.ts",
    "npm ci && node x",
    /something else/,
  ],
  ["sums left out", "release.yml", " dist/SHA256SUMS", "", /SHA256SUMS is not attached/],
  ["a release that is cut off", "release.yml", "cancel-in-progress: false", "cancel-in-progress: true", /cancelled/],
  ["no second try", "release.yml", "required: true", "required: false", /again by hand/],
  ["single updates", "dependabot.yml", "[minor, patch]", "[patch]", /minor and patch/],
];

describe("the workflows", () => {
  test("keep every rule", () => {
    assert.deepEqual(workflowProblems(FILES, Object.keys(scripts)), []);
    assert.ok(pins(FILES).length > 10, "the test finds no pinned actions");
  });

  test("pin one version of an action everywhere", () => {
    const commits = new Map<string, Set<string>>();
    for (const { action, sha } of pins(FILES)) commits.set(action, (commits.get(action) ?? new Set()).add(sha));
    assert.deepEqual(
      [...commits].filter(([, shas]) => shas.size > 1).map(([action]) => action),
      [],
    );
  });

  for (const [what, file, from, to, said] of BROKEN) {
    test(`with ${what} are refused`, () => {
      const found = workflowProblems(broken(file, from, to), Object.keys(scripts));
      assert.ok(
        found.some((problem) => said.test(problem)),
        `${said} in ${JSON.stringify(found)}`,
      );
    });
  }
});

test("Release Please knows the version of package.json and makes tags vX.Y.Z", () => {
  const read = (name: string): Record<string, unknown> =>
    JSON.parse(readFileSync(join(ROOT, name), "utf8")) as Record<string, unknown>;
  assert.deepEqual(read(".release-please-manifest.json"), { ".": version });
  const config = read("release-please-config.json");
  assert.deepEqual(
    [config["release-type"], config["include-component-in-tag"], config["include-v-in-tag"], config["packages"]],
    ["node", false, true, { ".": {} }],
  );
});

describe("a pull request's title", () => {
  const script = /grep -Eqx '([^']+)'/.exec(FILES["pr-title.yml"] ?? "")?.[1] ?? "";
  const pattern = new RegExp(`^(?:${script})$`);
  for (const title of ["feat: a stop", "fix(policy): ask", "feat(core, cli)!: new log", "build(deps-dev): x"])
    test(`"${title}" is fine`, () => assert.match(title, pattern));
  for (const title of ["A stop", "feat:", "feat: ", "feat :x", "Feat: x", "feat(): x", "wip: x", "feat(a) x"])
    test(`"${title}" is refused`, () => assert.doesNotMatch(title, pattern));
});
