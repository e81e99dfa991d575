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
  ratiosOf,
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

/** What the whole supervisor adds to the parts of an allowed call. */
const WHOLE =
  "Beside the parts, the whole supervisor makes some thirteen system calls for each call: real paths are looked up anew (a link may have been exchanged), every place where a stop may stand is looked at once more before an allow leaves, and the log is looked at before it is written. And it steps the machine with its invariants checked. A worker thinks between two calls, so that none of this is in the processor's caches when the next one comes.";

/** Calls that are counted, and calls that come before them and are not: code that has run seldom is slow everywhere. */
const COUNTED = 400;
const WARM_UP = 800;

export async function run({ rounds, quick, log }: BenchOptions): Promise<Section> {
  const folder = await mkdtemp(join(tmpdir(), "pcs-bench-gate-"));
  const sdk = await agentSdk();
  const [counted, before] = quick ? [120, 80] : [COUNTED, WARM_UP];
  const calls = before + counted;
  log(`${calls} calls, one after the other, ${rounds} rounds`);
  const measure = (name: keyof typeof VARIANTS) => async (): Promise<number[]> => {
    const [reader, via, command] = VARIANTS[name];
    const out = join(folder, "times.json");
    await consume(reader, { kind: "gate", calls, via, command, out }, sdk.ok ? sdk.path : "");
    const times = JSON.parse(await readFile(out, "utf8")) as number[];
    return times.slice(before);
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
    const times = (other: string): string =>
      `${ratioOf(p50("allow"), p50(other)).toFixed(2)} times the p50 and ${ratioOf(p99("allow"), p99(other)).toFixed(2)} times the p99`;
    const target = (name: string, what: string, limit: number, why: string): Target => ({
      what,
      value: ratioOf(p50(name), p50("raw")),
      rounds: ratiosOf(p50(name), p50("raw")),
      limit,
      kind: "at most",
      unit: "of raw, p50",
      why,
    });
    return {
      title: "The gate's round trip",
      method: `A scripted claude asks about one Bash call, waits for the answer, and asks again; it takes the time itself. The first ${before} of ${calls} calls are not counted. "raw" parses the request and writes an answer, and nothing else. The decision is approved in the same process at once, so that what is measured is what the supervisor adds: the request in the log, the approval, a group commit by fdatasync before the answer. Agent SDK ${SDK_VERSION}.`,
      rows,
      targets: [
        target(
          "parts",
          "an allowed call: parse, redaction, a chained log write",
          1.3,
          "The parts are: the Bash grammar over the command, the redactor over the input, a SHA-256 and a write to the kernel.",
        ),
        target("allow", "an allowed call in the whole supervisor", 1.3, WHOLE),
        target(
          "decision",
          "a decision that is synced",
          3.5,
          "A synced decision is two records with their steps of the machine, and the disk's own fdatasync, which no program makes faster.",
        ),
      ],
      notes: [
        sdk.ok
          ? `Against the Agent SDK an allowed call in the whole supervisor takes ${times("sdk hook")} of its hook callback, and ${times("sdk ask")} of its canUseTool, which write no log and judge nothing.`
          : `The Agent SDK could not be fetched: ${sdk.reason}`,
      ],
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
