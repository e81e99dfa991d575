import type { Effect } from "../core/machine/effects.ts";
import { assertNever } from "../core/result.ts";
import type { DriverPort } from "./effect-port.ts";
import type { GateKeeper } from "./gate-keeper.ts";
import { review } from "./run-review.ts";
import { askSignOff, confirmTree, verify } from "./run-verification.ts";
import { endWorker, sendPrompt, spawnWorker, sweep, teardown } from "./run-worker.ts";

/** Runs an effect of the machine; resolves when it is over. Rejects only by a bug: what can go wrong is an event. */
export function perform(
  port: DriverPort,
  gate: GateKeeper,
  effect: Exclude<Effect, { kind: "record" | "reply" }>,
): Promise<void> {
  switch (effect.kind) {
    case "spawn":
      return spawnWorker(port, gate, effect);
    case "send":
      return sendPrompt(port, effect);
    case "decide":
      return port.decider.decide(effect);
    case "verify":
      return verify(port, effect);
    case "review":
      return review(port);
    case "ask-sign-off":
      return askSignOff(port);
    case "confirm-tree":
      return confirmTree(port, effect);
    case "end-worker":
      return endWorker(port, effect);
    case "sweep":
      return sweep(port);
    case "teardown":
      return teardown(port, effect);
    default:
      return assertNever(effect, "effect");
  }
}
