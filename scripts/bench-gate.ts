/** How long a tool call waits for its answer: the supervisor against a bare reader and the Agent SDK's hook and canUseTool. */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { agentSdk, SDK_VERSION } from "./bench/agent-sdk.ts";
import { consume } from "./bench/consume.ts";
import {
  type BenchOptions,
  inTurns,
  median,
  quantile,
  type Row,
  ratioOf,
  type Section,
  type Target,
} from "./bench/measure.ts";

/** [reader, what the fake claude asks by, command]. */
const VARIANTS = {
  raw: ["raw", "hook_callback", "ls -la src"],
  parts: ["gate", "hook_callback", "ls -la src"],
  allow: ["supervisor", "hook_callback", "ls -la src"],
  decision: ["supervisor", "hook_callback", "node gen.mjs out.txt"],
  "sdk hook": ["sdk-hook", "hook_callback", "ls -la src"],
  "sdk ask": ["sdk-ask", "can_use_tool", "ls -la src"],
} as const;

const NAMES: Readonly<Record<keyof typeof VARIANTS, string>> = {
  raw: "raw scan + JSON.parse + write back",
  parts: "adapter + policy + redaction + chained log write",
  allow: "whole supervisor, an allowed call",
  decision: "whole supervisor, a person's approval, synced",
  "sdk hook": "Agent SDK, hook callback",
  "sdk ask": "Agent SDK, canUseTool",
};

/** Share of the calls that come first and are not counted: code that has run seldom is slow everywhere. */
const WARM_UP = 0.4;

export async function run({ rounds, quick, log }: BenchOptions): Promise<Section> {
  const folder = await mkdtemp(join(tmpdir(), "pcs-bench-gate-"));
  const sdk = await agentSdk();
  const calls = quick ? 200 : 2_500;
  log(`${calls} calls, one after the other, ${rounds} rounds`);
  const measure = (name: keyof typeof VARIANTS) => async (): Promise<number[]> => {
    const [reader, via, command] = VARIANTS[name];
    const out = join(folder, "times.json");
    await consume(reader, { kind: "gate", calls, via, command, out }, sdk.ok ? sdk.path : "");
    const times = JSON.parse(await readFile(out, "utf8")) as number[];
    return times.slice(Math.floor(calls * WARM_UP));
  };
  const names = (Object.keys(VARIANTS) as (keyof typeof VARIANTS)[]).filter(
    (name) => sdk.ok || !name.startsWith("sdk"),
  );
  try {
    const seen = await inTurns(rounds, Object.fromEntries(names.map((name) => [name, measure(name)])));
    const p50 = (name: string): number[] => (seen[name] ?? []).map((times) => median(times));
    const p99 = (name: string): number[] => (seen[name] ?? []).map((times) => quantile(times, 0.99));
    const rows = names.flatMap((name): Row[] => [
      {
        what: NAMES[name],
        value: median(p50(name)),
        unit: "µs p50",
        ratio: { to: "raw", value: ratioOf(p50(name), p50("raw")) },
      },
      {
        what: NAMES[name],
        value: median(p99(name)),
        unit: "µs p99",
        ratio: { to: "raw", value: ratioOf(p99(name), p99("raw")) },
      },
    ]);
    const target = (name: string, what: string, limit: number): Target => ({
      what,
      value: ratioOf(p50(name), p50("raw")),
      limit,
      kind: "at most",
      unit: "of raw, p50",
    });
    return {
      title: "The gate's round trip",
      method: `A scripted claude asks about one Bash call, waits for the answer, and asks again; it takes the time itself. "raw" parses the request and writes an answer, and nothing else. The decision is approved in the same process at once, so that what is measured is what the supervisor adds: the request in the log, the approval, a group commit by fdatasync before the answer. Agent SDK ${SDK_VERSION}.`,
      rows,
      targets: [
        target("parts", "an allowed call: parse, redaction, a chained log write", 1.3),
        target("allow", "an allowed call in the whole supervisor", 1.3),
        target("decision", "a decision that is synced", 3.5),
      ],
      notes: [
        "What the whole supervisor adds to the parts of an allowed call: real paths looked up on the disk anew for each call (a link may have been exchanged), the hash by which equal asks are found, the step of the machine with its invariants checked, the record's distribution to whoever watches. A synced decision is two more records with their steps, and the disk's own fdatasync.",
        ...(sdk.ok ? [] : [`The Agent SDK could not be fetched: ${sdk.reason}`]),
      ],
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
