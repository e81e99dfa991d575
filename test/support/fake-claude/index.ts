/** The scripted `claude` for tests: where it is, how a scenario is chosen, and the facts that it wrote. */
import { randomUUID } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** Absolute path of the executable. */
export const FAKE_CLAUDE = join(dirname(fileURLToPath(import.meta.url)), "claude");

/** Every variable of the fake: list them in PI_CLAUDE_SUPERVISOR_WORKER_ENV when a supervisor starts it. */
export const FAKE_CLAUDE_VARIABLES = [
  "FAKE_CLAUDE_SCENARIO",
  "FAKE_CLAUDE_STEPS",
  "FAKE_CLAUDE_FACTS",
  "FAKE_CLAUDE_OPTIONS",
  "FAKE_CLAUDE_NODE",
];

export type Fact =
  | { fact: "start"; pid: number; argv: string[]; env: string[]; cwd: string }
  | { fact: "stdin"; line: string }
  | { fact: "stdin-end" }
  | { fact: "signal"; signal: string }
  | { fact: "child"; what: string; pid: number }
  | { fact: "note"; [key: string]: unknown }
  /* Of the scenario `session`: what it was told, what it asked for and got, and a second process in one session. */
  | { fact: "prompt"; sessionId: string; promptId: string; text: string; pid: number }
  | { fact: "call"; name: string; callId: string; toolUseId: string; pid: number }
  | { fact: "answered"; name: string; callId: string; toolUseId: string; said: string; pid: number }
  | { fact: "overlap"; sessionId: string; pid: number; other: number }
  | { fact: "exit"; code: number };

export interface Fake {
  /** Environment that chooses the scenario. */
  env: Record<string, string>;
  /** What the fake has written so far. */
  facts(): Fact[];
  factsOf<F extends Fact["fact"]>(fact: F): Extract<Fact, { fact: F }>[];
}

/** `folder` gets the side file. `options` go to the scenario. */
export function fakeClaude(folder: string, scenario = "obedient", options: object = {}): Fake {
  const file = join(folder, `facts-${randomUUID()}.jsonl`);
  const facts = (): Fact[] => {
    if (!existsSync(file)) return [];
    const lines = readFileSync(file, "utf8").split("\n");
    return lines.slice(0, -1).map((line) => JSON.parse(line) as Fact);
  };
  return {
    env: {
      FAKE_CLAUDE_SCENARIO: scenario,
      FAKE_CLAUDE_FACTS: file,
      FAKE_CLAUDE_OPTIONS: JSON.stringify(options),
      FAKE_CLAUDE_NODE: process.execPath,
    },
    facts,
    factsOf: <F extends Fact["fact"]>(fact: F) =>
      facts().filter((entry): entry is Extract<Fact, { fact: F }> => entry.fact === fact),
  };
}

/** A scenario of your own: a list of steps (see steps.mjs). */
export function fakeClaudeSteps(folder: string, steps: readonly object[]): Fake {
  const fake = fakeClaude(folder);
  const file = join(folder, `steps-${randomUUID()}.json`);
  writeFileSync(file, JSON.stringify(steps));
  return { ...fake, env: { ...fake.env, FAKE_CLAUDE_STEPS: file } };
}
