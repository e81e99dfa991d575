/** The terminal is lent to one program at a time; one that stopped itself where nobody could wake it goes on. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import type { PiPort } from "../../src/extension/pi-port.ts";
import { runInTerminal } from "../../src/extension/ui/run-in-terminal.ts";
import { hubWith } from "./support/fake-supervisor.ts";

const port = { suspend: <T>(run: () => Promise<T>) => run() } as unknown as PiPort;
const sh = (script: string) => ({ file: "sh", args: ["-c", script], cwd: "/", without: ["CLAUDECODE"] });

describe("a program that gets the terminal", () => {
  test("and stops itself, as Claude does at Ctrl-Z, is woken: nobody else could", {
    skip: process.platform === "darwin",
  }, async () => {
    const ran = await runInTerminal(hubWith(undefined), port, sh("kill -STOP $$; exit 7"));
    assert.deepEqual(ran, { ok: true, code: 7 });
  });

  test("has it alone: a second one is refused, and afterwards it is free again", async () => {
    const hub = hubWith(undefined);
    const folder = mkdtempSync(join(tmpdir(), "terminal-"));
    try {
      const go = join(folder, "go");
      const first = runInTerminal(hub, port, sh(`until [ -e ${go} ]; do sleep 0.05; done; exit 3`));
      assert.equal(hub.terminalGiven, true);
      const second = await runInTerminal(hub, port, sh("exit 0"));
      assert.deepEqual([second.ok, !second.ok && second.reason], [false, "in-use"]);
      writeFileSync(go, "");
      assert.deepEqual(await first, { ok: true, code: 3 });
    } finally {
      rmSync(folder, { recursive: true });
    }
    assert.equal(hub.terminalGiven, false);
  });

  test("that can't be started, and a Pi without a screen, are failures that leave the terminal free", async () => {
    const hub = hubWith(undefined);
    const missing = await runInTerminal(hub, port, { ...sh(""), file: "/nowhere/claude" });
    assert.deepEqual([missing.ok, !missing.ok && missing.reason], [false, "spawn-failed"]);
    const blind = { suspend: async () => undefined } as unknown as PiPort;
    const none = await runInTerminal(hub, blind, sh("exit 0"));
    assert.deepEqual([none.ok, !none.ok && none.reason], [false, "no-screen"]);
    assert.equal(hub.terminalGiven, false);
  });

  test("does not get the variables that would mislead it", async () => {
    process.env["CLAUDECODE"] = "1";
    try {
      const ran = await runInTerminal(hubWith(undefined), port, sh('test -z "$CLAUDECODE"'));
      assert.deepEqual(ran, { ok: true, code: 0 });
    } finally {
      delete process.env["CLAUDECODE"];
    }
  });
});
