#!/usr/bin/env node
/** The command `pi-claude-supervisor-control`: the real outside handed to `control/run.ts`. */
import { randomBytes } from "node:crypto";
import { writeSync } from "node:fs";
import { currentAccount, systemOwnership } from "../platform/account.ts";
import { systemClock } from "../platform/clock.ts";
import { createRedactor } from "../redaction/index.ts";
import { askOnTerminal } from "./control/ask.ts";
import { runControl } from "./control/run.ts";

process.exitCode = await runControl(process.argv.slice(2), {
  env: process.env,
  account: currentAccount,
  ownership: systemOwnership,
  clock: systemClock,
  redact: (text) => createRedactor({ salt: randomBytes(16).toString("hex") }).text(text),
  tty: process.stdin.isTTY === true && process.stderr.isTTY === true,
  ask: askOnTerminal,
  out: (text) => writeAll(1, text),
  err: (text) => writeAll(2, text),
});

/** Synchronous, so that nothing is lost when the process ends; a reader that has gone away changes no exit code. */
function writeAll(fd: number, text: string): void {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; ) {
    try {
      at += writeSync(fd, bytes, at);
    } catch (error) {
      if (error instanceof Error && "code" in error && error.code === "EAGAIN") continue;
      return;
    }
  }
}
