import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { describe, type TestContext, test } from "node:test";
import { namesSession, processesInSession } from "../../../src/platform/process/index.ts";
import { until } from "../../support/until.ts";

const ID = randomUUID();

describe("the arguments of a Claude in a session", () => {
  const cases: [string[], boolean][] = [
    [["claude", `--resume=${ID}`], true],
    [["claude", "--resume", ID, "--model", "x"], true],
    [["/usr/local/bin/claude", "-r", ID], true],
    [["node", "/usr/lib/cli.js", "--resume", ID], true],
    [["claude", "-p", `--session-id=${ID}`], true],
    [["vim", `/home/me/.claude/projects/x/${ID}.jsonl`], false],
    [["grep", "-r", `resume=${ID}`, "."], false],
    [["sh", "-c", `cd /x && claude --resume=${ID}`], false],
    [["claude", `--resume=${randomUUID()}`], false],
    [["claude", ID], false],
    [["grep", "-r", ID, "/home/me/.claude"], false],
    [["rm", "-r", ID], false],
  ];
  for (const [args, expected] of cases) {
    test(`${args.join(" ").replaceAll(ID, "ID").slice(0, 60)}: ${expected ? "is one" : "is none"}`, () => {
      assert.equal(namesSession(args, ID), expected);
    });
  }
});

describe("processes in a session", () => {
  function start(t: TestContext, ...args: string[]): number {
    const child = spawn("/bin/sh", ["-c", "sleep 600; :", "claude", ...args], { stdio: "ignore", detached: true });
    t.after(() => process.kill(-(child.pid ?? 0), "SIGKILL"));
    return child.pid ?? -1;
  }

  test("are found by their own argument, whoever started them, and gone when they are", async (t) => {
    const pid = start(t, `--resume=${ID}`);
    start(t, `about ${ID}`);
    // Between its fork and its exec a child of the shell has the shell's arguments, and counts too.
    const found = await until(
      () => {
        const now = processesInSession(ID);
        return now?.length === 1 ? now : undefined;
      },
      10_000,
      "it alone",
    );
    assert.deepEqual(
      found.map((one) => one.pid),
      [pid],
    );
  });

  test("are not looked for by anything that is no session's id", () => {
    for (const word of ["", "600", "claude", "sh", `${ID}x`, "--resume"])
      assert.deepEqual(processesInSession(word), []);
  });
});
