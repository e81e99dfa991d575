/** A decider without Pi: the real Decision Worker over a session whose model is a function of the test. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { DecisionSessionFactory, DecisionTurn } from "../../src/core/contracts/decision.ts";
import type { Result } from "../../src/core/result.ts";

/** What the model makes of one prompt; it may wait for the signal, or throw as a broken Pi does. */
export type Mind = (prompt: string, signal: AbortSignal) => DecisionTurn | Promise<DecisionTurn>;

export interface ScriptedDecider {
  factory: DecisionSessionFactory;
  /** Every prompt, oldest first. */
  prompts: string[];
  /** Sessions that are open now, and how many were ever opened; `resumed` counts those that went on. */
  open: number;
  opened: number;
  resumed: number;
  kinds(): string[];
}

export function scriptedDecider(mind: Mind, usable: Result = { ok: true }): ScriptedDecider {
  const me: ScriptedDecider = {
    prompts: [],
    open: 0,
    opened: 0,
    resumed: 0,
    kinds: () => me.prompts.map(kindOf),
    factory: {
      usable: () => usable,
      async open({ folder, file }) {
        if (!usable.ok) return usable;
        me.open += 1;
        me.opened += 1;
        if (file !== undefined) me.resumed += 1;
        const path = file ?? join(folder, `s${me.opened}.jsonl`);
        if (file === undefined) writeFileSync(path, '{"type":"session","id":"s"}\n', { mode: 0o600 });
        let isOpen = true;
        return {
          ok: true,
          session: {
            file: path,
            resumed: file !== undefined,
            model: "lab/scripted",
            async prompt(text, signal) {
              me.prompts.push(text);
              return mind(text, signal);
            },
            dispose() {
              if (isOpen) me.open -= 1;
              isOpen = false;
            },
          },
        };
      },
    },
  };
  return me;
}

/** `tool`, `question`, `plan`, `turn-end` or `exit`, from the first line of a prompt. */
export function kindOf(prompt: string): string {
  return /^kind: (\S+)\n/.exec(prompt)?.[1] ?? "none";
}

/** One call of the tool. */
export function decides(decision: string, more: object = {}, usd?: number): DecisionTurn {
  const calls = [{ name: "decide", arguments: { decision, reason: `Because ${decision}.`, ...more } }];
  return usd === undefined ? { calls } : { calls, usd };
}

/** A mind by kind of question; a kind that is not named is decided in the most harmless way. */
export function mindOf(answers: Partial<Record<string, Mind | DecisionTurn>>): Mind {
  return (prompt, signal) => {
    const kind = kindOf(prompt);
    const answer = answers[kind] ?? decides(kind === "turn-end" ? "verify" : "escalate");
    return typeof answer === "function" ? answer(prompt, signal) : answer;
  };
}

/** A model that never answers, and leaves when it is told to. */
export const hangs: Mind = (_prompt, signal) =>
  new Promise((resolve) => {
    signal.addEventListener("abort", () => resolve({ calls: [], error: "aborted" }), { once: true });
    if (signal.aborted) resolve({ calls: [], error: "aborted" });
  });
