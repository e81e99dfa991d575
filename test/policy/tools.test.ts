import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Verdict } from "../../src/core/contracts/policy.ts";
import { decide, type World } from "./support.ts";

type Row = [tool: string, input: unknown, verdict: Verdict, world?: World];

const edit = (path: string): unknown => ({ file_path: path, old_string: "a", new_string: "b" });

const ROWS: readonly Row[] = [
  ["Read", { file_path: "/workspace/a.ts" }, "allow"],
  ["Read", { file_path: "src/a.ts" }, "allow"],
  ["Read", { file_path: "/workspace/.claude/settings.json" }, "allow"],
  ["Read", { file_path: "/workspace/.git/HEAD" }, "allow"],
  ["Read", { file_path: "/workspace/.npmrc" }, "allow"],
  ["Read", { file_path: "/workspace/.env.sample" }, "allow"],
  ["Read", { file_path: "/workspace/a/.env.production" }, "review"],
  ["Read", { file_path: "/etc/passwd" }, "review"],
  ["Read", { file_path: "/home/user/.bashrc" }, "review"],
  ["Read", { file_path: "/home/user/.claude/projects/x" }, "review"],
  ["Read", { file_path: "/home/user/.npmrc" }, "deny"],
  ["Read", { file_path: "/home/other/.ssh/id_rsa" }, "deny"],
  ["Read", { file_path: "/root/.aws/credentials" }, "deny"],
  ["Read", { file_path: "/proc/self/environ" }, "deny"],
  ["Read", { file_path: "/etc/shadow" }, "deny"],
  ["Read", { file_path: "/workspace/../home/user/.netrc" }, "deny"],
  ["Read", { file_path: "~/.ssh/id_rsa" }, "deny"],
  ["Read", { file_path: "/workspace/a\u200b.ts" }, "review"],
  ["Read", { file_path: "/workspace/a.ts", encoding: "x" }, "review"],
  ["Read", { file_path: 7 }, "review"],
  ["Read", { file_path: "/workspace/d/k" }, "deny", { fs: [{ link: "/workspace/d", to: "/home/user/.ssh" }] }],
  ["Read", { file_path: "/workspace/d/../k" }, "review", { fs: [{ link: "/workspace/d", to: "/srv/x" }] }],
  [
    "Read",
    { file_path: "/workspace/a" },
    "deny",
    { fs: [{ link: "/workspace/a", to: "/home/user/.netrc", hard: true }] },
  ],
  ["Write", { file_path: "/workspace/new.ts", content: "rm -rf /" }, "allow"],
  ["Write", { file_path: "/workspace/-rf", content: "" }, "review"],
  ["Write", { file_path: "/workspace", content: "" }, "review"],
  ["Write", { file_path: "/workspace/.env", content: "" }, "review"],
  ["Write", { file_path: "/workspace/.env.example", content: "" }, "allow"],
  ["Write", { file_path: "/workspace/.husky/pre-commit", content: "" }, "review"],
  ["Write", { file_path: "/workspace/.vscode/settings.json", content: "" }, "review"],
  ["Write", { file_path: "/workspace/.git/refs/heads/x", content: "" }, "review"],
  ["Write", { file_path: "/workspace/.pi/supervisor.json", content: "" }, "deny"],
  ["Write", { file_path: "/workspace/a/b/.mcp.json", content: "" }, "deny"],
  ["Write", { file_path: "/workspace/.git", content: "" }, "deny"],
  ["Write", { file_path: "/workspace/.Claude/x", content: "" }, "review"],
  ["Write", { file_path: "/workspace/.GIT/hooks/x", content: "" }, "review"],
  ["Write", { file_path: "/workspace/l", content: "" }, "deny", { fs: [{ link: "/workspace/l", to: ".mcp.json" }] }],
  ["Write", { file_path: "/workspace/l/x", content: "" }, "deny", { fs: [{ link: "/workspace/l", to: ".git/hooks" }] }],
  ["Write", { file_path: "/usr/bin/x", content: "" }, "review"],
  ["Write", { file_path: "/home/user/.local/bin/x", content: "" }, "review"],
  ["Write", { file_path: "/private/etc/hosts", content: "" }, "deny"],
  ["Write", { file_path: "/var/spool/cron/crontabs/u", content: "" }, "deny"],
  ["Write", { file_path: "/home/user/.config/autostart/x.desktop", content: "" }, "deny"],
  ["Edit", edit("/workspace/src/a.ts"), "allow"],
  ["Edit", edit("/dev/null"), "deny"],
  ["Edit", { file_path: "/workspace/a.ts", old_string: "a" }, "review"],
  ["MultiEdit", { file_path: "/workspace/a.ts", edits: "x" }, "review"],
  ["NotebookEdit", { notebook_path: "/home/user/.zshrc", new_source: "x" }, "deny"],
  ["Glob", { pattern: "../**/*.ts" }, "review"],
  ["Glob", { pattern: "/etc/*" }, "review"],
  ["Glob", { pattern: "/home/user/.ssh/*" }, "deny"],
  ["Glob", { pattern: "**/.env" }, "allow"],
  ["Grep", { pattern: "x", glob: ".env*" }, "review"],
  ["Grep", { pattern: "x", path: "/home/user/.aws" }, "deny"],
  ["Grep", { pattern: "x", path: "/workspace/.env" }, "review"],
  ["WebFetch", { url: "https://docs.example.org/x", prompt: "p" }, "review"],
  ["WebFetch", { url: "https://docs.example.org/x", prompt: "p" }, "allow", { profile: "open" }],
  ["WebFetch", { url: "http://2130706433/", prompt: "p" }, "review", { profile: "open" }],
  ["WebFetch", { url: "http://0x7f.1/", prompt: "p" }, "review", { profile: "open" }],
  ["WebFetch", { url: "http://[::ffff:127.0.0.1]/", prompt: "p" }, "review", { profile: "open" }],
  ["WebFetch", { url: "http://[fe80::1]/", prompt: "p" }, "review", { profile: "open" }],
  ["WebFetch", { url: "http://172.20.1.1/", prompt: "p" }, "review", { profile: "open" }],
  ["WebFetch", { url: "http://intranet/", prompt: "p" }, "review", { profile: "open" }],
  ["WebFetch", { url: "https://user:pw@docs.example.org/", prompt: "p" }, "review", { profile: "open" }],
  ["WebFetch", { url: "http://169.254.169.254./", prompt: "p" }, "deny", { profile: "open" }],
  ["WebFetch", { url: "http://metadata.google.internal/", prompt: "p" }, "deny"],
  ["WebFetch", { url: "http://[::ffff:169.254.169.254]/", prompt: "p" }, "deny"],
  ["WebFetch", { url: "javascript:alert(1)", prompt: "p" }, "review", { profile: "open" }],
  ["WebFetch", { url: "not an address", prompt: "p" }, "review", { profile: "open" }],
  ["WebSearch", { query: "x" }, "review"],
  ["Agent", { description: "d", prompt: "p", mode: "plan" }, "allow"],
  ["Agent", { description: "d", prompt: "p", mode: "dontAsk" }, "review"],
  ["Task", { description: "d", prompt: "p", mode: "bypassPermissions" }, "deny"],
  ["Agent", { description: "d" }, "review"],
  ["Bash", { command: "ls", dangerouslyDisableSandbox: false }, "allow"],
  ["Bash", { command: "ls", dangerouslyDisableSandbox: "yes" }, "deny"],
  ["Bash", { command: "rm -rf ~", run_in_background: true }, "deny"],
  ["Bash", { command: "   " }, "review"],
  ["Bash", ["ls"], "review"],
  ["Bash", "ls", "review"],
  ["toString", {}, "review"],
  ["__proto__", {}, "review"],
  ["KillShell", { shell_id: "1" }, "review"],
  ["mcp__x__y", { dangerouslyDisableSandbox: true }, "deny"],
];

describe("tools other than plain commands", () => {
  for (const [tool, input, verdict, world] of ROWS) {
    test(`${tool} ${JSON.stringify(input)}${world === undefined ? "" : ` with ${JSON.stringify(world)}`} is ${verdict}`, () => {
      assert.equal(decide({ toolName: tool, input, cwd: "/workspace" }, world).verdict, verdict);
    });
  }

  test("a host that the person's configuration names is free, its neighbours are not", () => {
    const fetch = (url: string) =>
      decide(
        { toolName: "WebFetch", input: { url, prompt: "p" }, cwd: "/workspace" },
        {},
        { allowedHosts: ["docs.example.org", "*.dev.example"] },
      ).verdict;
    assert.equal(fetch("https://docs.example.org/a"), "allow");
    assert.equal(fetch("https://a.dev.example/"), "allow");
    assert.equal(fetch("https://evil-docs.example.org/"), "review");
    assert.equal(fetch("https://docs.example.org.evil.example/"), "review");
  });

  test("the task's own temporary folder is free, another one is not", () => {
    const write = (path: string) =>
      decide(
        { toolName: "Write", input: { file_path: path, content: "" }, cwd: "/workspace" },
        {},
        { tmpDir: "/tmp/task-1" },
      ).verdict;
    assert.equal(write("/tmp/task-1/x"), "allow");
    assert.equal(write("/tmp/task-2/x"), "review");
  });

  test("folders that are protected besides the state folder are out of reach", () => {
    const read = decide(
      { toolName: "Read", input: { file_path: "/srv/keep/x" }, cwd: "/workspace" },
      {},
      { protectedDirs: ["/srv/keep"] },
    );
    assert.equal(read.verdict, "deny");
  });
});
