/** What Pi's own agent may not do to the emergency stop, through the hook that Pi asks before every tool call. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, describe, mock, test } from "node:test";
import { filterToolCall } from "../../src/extension/agent-filter.ts";
import { lazy } from "../../src/extension/lazy.ts";

let root = "";
let state = "";
const known = process.env["PI_CLAUDE_SUPERVISOR_STATE_DIR"];
before(() => {
  root = mkdtempSync(join(tmpdir(), "pcs-filter-"));
  state = join(root, "state");
  process.env["PI_CLAUDE_SUPERVISOR_STATE_DIR"] = state;
  mkdirSync(join(state, "control"), { recursive: true });
  symlinkSync(state, join(root, "link"));
});
after(() => {
  if (known === undefined) delete process.env["PI_CLAUDE_SUPERVISOR_STATE_DIR"];
  else process.env["PI_CLAUDE_SUPERVISOR_STATE_DIR"] = known;
  rmSync(root, { recursive: true, force: true });
});
afterEach(() => mock.restoreAll());

const ask = (toolName: string, input: Record<string, unknown>) =>
  filterToolCall({ toolName, input } as Parameters<typeof filterToolCall>[0], { cwd: root });

describe("Pi's own agent", () => {
  const calls: { name: string; tool: string; input: () => Record<string, unknown>; blocked: boolean }[] = [
    {
      name: "may not lift a stop",
      tool: "bash",
      input: () => ({ command: "pi-claude-supervisor-control --all resume --epoch 1 --reason x" }),
      blocked: true,
    },
    {
      name: "may not set the shared stop up",
      tool: "bash",
      input: () => ({ command: "npx pi-claude-supervisor-control shared-folder /var/tmp" }),
      blocked: true,
    },
    {
      name: "may not lift the shared stop",
      tool: "bash",
      input: () => ({ command: "cd / && pi-claude-supervisor-control shared-lift" }),
      blocked: true,
    },
    {
      name: "may not take STOP-ALL away",
      tool: "bash",
      input: () => ({ command: `rm ${state}/control/STOP-ALL` }),
      blocked: true,
    },
    {
      name: "may not write into the control folder",
      tool: "write",
      input: () => ({ path: join(state, "control", "latch.json"), content: "{}" }),
      blocked: true,
    },
    {
      name: "may not edit there by another name of it",
      tool: "edit",
      input: () => ({ path: join(root, "link", "control", "latch.json"), oldText: "a", newText: "b" }),
      blocked: true,
    },
    {
      name: "may not name it to a tool that nobody knows",
      tool: "mystery",
      input: () => ({ where: [{ path: join(state, "control") }] }),
      blocked: true,
    },
    {
      name: "may not give a command that is no text",
      tool: "bash",
      input: () => ({ command: 7 }),
      blocked: true,
    },
    {
      name: "may stop everything",
      tool: "bash",
      input: () => ({ command: 'pi-claude-supervisor-control --all stop --reason "it runs wild"' }),
      blocked: false,
    },
    {
      name: "may look",
      tool: "bash",
      input: () => ({ command: `pi-claude-supervisor-control --all status; ls -la ${state}` }),
      blocked: false,
    },
    { name: "may do its work", tool: "bash", input: () => ({ command: "npm test && git status" }), blocked: false },
    {
      name: "may write its files",
      tool: "write",
      input: () => ({ path: join(root, "src", "resume.ts"), content: "resume" }),
      blocked: false,
    },
  ];
  for (const { name, tool, input, blocked } of calls) {
    test(name, async () => {
      const answer = await ask(tool, input());
      assert.equal(answer?.block ?? false, blocked, JSON.stringify(answer));
      if (blocked) assert.match(answer?.reason ?? "", /by a person, not by an agent; this filter catches mistakes/);
    });
  }

  test("reads without anything being loaded for it", async () => {
    const load = mock.method(lazy, "toolGuard", () => Promise.reject(new Error("not to be loaded")));
    for (const tool of ["read", "grep", "find", "ls"])
      assert.equal(await ask(tool, { path: join(state, "control", "latch.json") }), undefined);
    assert.equal(load.mock.callCount(), 0);
  });

  test("gets nothing through a filter that can't be asked", async () => {
    mock.method(lazy, "toolGuard", () => Promise.reject(new Error("the file is gone")));
    const answer = await ask("bash", { command: "ls" });
    assert.equal(answer?.block, true);
    assert.match(answer?.reason ?? "", /could not be asked: the file is gone/);
  });
});
