#!/usr/bin/env node
/**
 * A scripted `claude`: plays one scenario by name and writes what it saw into a side file, so that tests assert on facts
 * of the outside and not on our own log.
 *
 * FAKE_CLAUDE_SCENARIO  name in scenarios.mjs; default `obedient`
 * FAKE_CLAUDE_STEPS     instead: a JSON file with a list of steps (see steps.mjs)
 * FAKE_CLAUDE_FACTS     side file, one JSON object a line: start, stdin, stdin-end, signal, child, note, exit
 * FAKE_CLAUDE_OPTIONS   JSON object for the scenario
 */
import { readFileSync } from "node:fs";
import { FakeClaude } from "./io.mjs";
import { scenarios } from "./scenarios.mjs";
import { playSteps } from "./steps.mjs";

const claude = new FakeClaude();
const { FAKE_CLAUDE_SCENARIO: name, FAKE_CLAUDE_STEPS: steps } = process.env;
if (!process.argv.includes("stream-json")) await scenarios.text(claude);
else if (steps !== undefined) await playSteps(claude, JSON.parse(readFileSync(steps, "utf8")));
else {
  const scenario = scenarios[name ?? "obedient"];
  if (scenario === undefined) {
    process.stderr.write(`fake claude: no scenario "${name}"\n`);
    claude.exit(70);
  }
  await scenario(claude, JSON.parse(process.env.FAKE_CLAUDE_OPTIONS ?? "{}"));
}
