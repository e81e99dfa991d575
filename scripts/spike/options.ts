/** What a spike was asked for on its command line, and why it may refuse. */
import { resolve } from "node:path";

export interface SpikeOptions {
  /** A scripted model on loopback instead of the person's own account. */
  scripted: boolean;
  /** Where the evidence goes; default: a fresh file in the temporary folder. */
  out: string | undefined;
  /** SPIKE_PERMISSION_DECISION: what spike:permissions answers; default `allow`. */
  decision: PermissionDecision;
  /** SPIKE_AUTOMATION_PERMISSION, SPIKE_AUTOMATION_QUESTION: what spike:automation shows beside a plain task. */
  automation: { permission: boolean; question: boolean };
}

export type PermissionDecision = "allow" | "deny";

export class Refusal extends Error {
  override readonly name = "Refusal";
}

/** Throws a `Refusal` whose message says what to do instead. */
export function readOptions(words: readonly string[], env: Readonly<Record<string, string | undefined>>): SpikeOptions {
  const options: SpikeOptions = {
    scripted: false,
    out: undefined,
    decision: decisionOf(env["SPIKE_PERMISSION_DECISION"]),
    automation: {
      permission: switchOf(env, "SPIKE_AUTOMATION_PERMISSION"),
      question: switchOf(env, "SPIKE_AUTOMATION_QUESTION"),
    },
  };
  const rest = [...words];
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    const value = /^--out=(.+)$/.exec(word)?.[1] ?? (word === "--out" ? rest.shift() : undefined);
    if (word === "--scripted") options.scripted = true;
    else if (value !== undefined) options.out = resolve(value);
    else throw new Refusal(`Unknown or unfinished option "${word}". Options: --scripted, --out FILE.`);
  }
  if (!options.scripted && isCi(env["CI"])) {
    throw new Refusal(
      "This runs a Claude that is logged in, which never happens in CI. Add --scripted to run it against a scripted model on loopback.",
    );
  }
  return options;
}

function isCi(value: string | undefined): boolean {
  return value !== undefined && !["", "0", "false"].includes(value.toLowerCase());
}

function switchOf(env: Readonly<Record<string, string | undefined>>, name: string): boolean {
  const value = env[name] ?? "";
  if (value === "" || value === "0") return false;
  if (value === "1") return true;
  throw new Refusal(`${name} is "${value}"; it can be 1 or 0.`);
}

function decisionOf(value: string | undefined): PermissionDecision {
  if (value === undefined || value === "") return "allow";
  if (value === "allow" || value === "deny") return value;
  throw new Refusal(`SPIKE_PERMISSION_DECISION is "${value}"; it can be allow or deny.`);
}
