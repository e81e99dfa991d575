import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { bash, decide, type World } from "./support.ts";

/** "What must not happen to a person who trusts it overnight", as far as the gate has a part in it. */
describe("a task is not parked at 23:05 over nothing", () => {
  const FINE: readonly [string, string, World?][] = [
    ["a commit message with a forbidden word", 'git commit -m "Refuse push --force, rm -rf / and shutdown"'],
    [
      "a commit message from a here-document",
      "git commit -m \"$(cat <<'EOF'\nnever run claude --dangerously-skip-permissions\nEOF\n)\"",
    ],
    ["a search for a forbidden word", "grep -rn 'shutdown -h now' docs"],
    ["$SHA as an argument", 'git show --stat "$SHA"'],
    ["$SHA from this call", 'SHA=$(git rev-parse HEAD~1); git diff "$SHA" --stat'],
    ["an amended commit", "git commit --amend --no-edit"],
    ["a look at a detached HEAD in mid-rebase", "git status && git log -1 && git rev-parse --abbrev-ref HEAD"],
    ["a PNG among the changes", "git add docs/logo.png && git status --short"],
    ["a link among the changes", "git add docs/current", { fs: [{ link: "/workspace/docs/current", to: "v2" }] }],
    ["output that is cut", "npm test 2>&1 | tail -40", { scripts: { test: "node --test" } }],
    ["emoji in a message", 'git commit -m "⚠️ fix: the parser 👨‍💻"'],
    ["dashes and letters of any script in a message", 'git commit -m "Größe — 日本語"'],
    ["a file of its own written again", "npm test > out.log 2>&1", { scripts: { test: "node --test" } }],
  ];
  for (const [name, command, world] of FINE) {
    test(name, () => {
      assert.equal(decide(bash(command), world).verdict, "allow");
    });
  }

  test("a group-writable parent folder: modes of folders are no fact of the gate at all", () => {
    const asked: string[] = [];
    decide(
      bash("cat src/a.ts"),
      {},
      {},
      {
        kind: (path) => {
          asked.push(path);
          return "other";
        },
      },
    );
    assert.deepEqual(asked, []);
  });

  test("a file that the task made itself may be overwritten and removed again", () => {
    const world: World = { files: { "out.log": "untracked" } };
    const own = { createdByTask: (path: string) => path === "/workspace/out.log" };
    assert.equal(decide(bash("ls > out.log"), world).verdict, "review");
    assert.equal(decide(bash("ls > out.log"), world, {}, own).verdict, "allow");
    assert.equal(decide(bash("rm out.log"), world, {}, own).verdict, "allow");
  });
});

describe("what nobody wants to find in the morning", () => {
  test("a stop that a worker called off: the control program and the state folder are out of reach", () => {
    for (const command of [
      "pi-claude-supervisor-control --all resume --epoch 1 --reason x",
      "npx pi-claude-supervisor-control --all status",
      "cat ~/.local/share/pi-claude-supervisor/tasks/t/task.json",
      "PI_CLAUDE_SUPERVISOR_STATE_DIR=/tmp/x pi -p y",
    ]) {
      assert.equal(decide(bash(command)).verdict, "deny", command);
    }
  });

  test("G9: a test command that runs what the worker put into it: the script's text is judged, what can't be read is asked about", () => {
    const verdicts = (world: World): string[] =>
      ["npm test", "npm run build"].map((command) => decide(bash(command), world).verdict);
    assert.deepEqual(verdicts({ scripts: { test: "node --test", build: "tsc -p ." }, local_bins: ["tsc"] }), [
      "allow",
      "allow",
    ]);
    const evil = "git push --force origin main";
    const scripts = { test: `node --test && ${evil}`, build: "tsc -p .", prebuild: evil };
    assert.deepEqual(verdicts({ scripts, local_bins: ["tsc"] }), ["deny", "deny"], "pre scripts too");
    assert.equal(decide(bash("make test")).verdict, "allow");
    assert.equal(decide(bash("make test"), { changed: ["/workspace/Makefile"] }).verdict, "review");
  });

  test("a verdict that nobody can explain: each one names its rule and the part that led to it", () => {
    const decision = decide(bash("ls && git push && rm -rf ~"));
    assert.equal(decision.verdict, "deny");
    assert.equal(decision.rule, "floor.home");
    assert.ok(decision.facts?.some((fact) => fact.rule === "git.push"));
    assert.ok(!decision.reason.includes("rm -rf"));
  });

  test("a failure of the gate that lets something through: it asks, and a deny that was found stays", () => {
    const broken = {
      gitState: () => {
        throw new Error("disk gone");
      },
    };
    const asked = decide(bash("rm a.ts"), {}, {}, broken);
    assert.equal(asked.verdict, "review");
    assert.equal(asked.rule, "policy.internal-error");
    assert.equal(decide(bash("rm -rf ~; rm a.ts"), {}, {}, broken).verdict, "deny");
  });

  test("facts that are not known: the gate asks", () => {
    assert.equal(decide(bash("rm a.ts"), {}, {}, { gitState: () => undefined }).verdict, "review");
    assert.equal(decide(bash("cat a.ts"), {}, {}, { realPath: () => undefined }).verdict, "review");
    assert.equal(decide(bash("npm test"), {}, {}, { packageScripts: () => undefined }).verdict, "review");
  });
});
