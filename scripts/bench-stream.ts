/** Events a second and memory: the adapter and the whole supervisor against a bare scan, node:readline and the Agent SDK. */
import { randomUUID } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { agentSdk, SDK_VERSION } from "./bench/agent-sdk.ts";
import { type Consumed, consume } from "./bench/consume.ts";
import {
  type BenchOptions,
  inTurns,
  median,
  type Row,
  ratioOf,
  ratiosOf,
  type Section,
  type Target,
} from "./bench/measure.ts";

/** Bytes of text in one event. */
const SIZES = { small: 200, large: 64 * 1024 } as const;

/** The whole supervisor gets so many times fewer events: each of them becomes a synced record, and a file if it is long. */
const FEWER = 40;

export async function run({ rounds, quick, log }: BenchOptions): Promise<Section> {
  const folder = await mkdtemp(join(tmpdir(), "pcs-bench-stream-"));
  const sdk = await agentSdk();
  const rows: Row[] = [];
  const targets: Target[] = [];
  try {
    for (const size of ["small", "large"] as const) {
      const count = size === "small" ? (quick ? 20_000 : 120_000) : quick ? 200 : 2_000;
      log(`${count} ${size} events, ${rounds} rounds`);
      const file = join(folder, `${size}.jsonl`);
      await writeFile(file, stream(count, SIZES[size]));
      const task = { kind: "events", file };
      const fewer = join(folder, `${size}-fewer.jsonl`);
      await writeFile(fewer, stream(count / FEWER, SIZES[size]));
      const reader = (name: string) => async () => {
        const whole = name === "supervisor";
        const asked = whole ? { ...task, file: fewer } : task;
        const seen = await consume(name, asked, sdk.ok ? sdk.path : "");
        if (whole) return { ...seen, ms: seen.ms * FEWER };
        if (seen.events !== count) throw new Error(`${name} saw ${seen.events} of ${count} events`);
        return seen;
      };
      const seen = await inTurns(rounds, {
        raw: reader("raw"),
        readline: reader("readline"),
        adapter: reader("adapter"),
        supervisor: reader("supervisor"),
        ...(sdk.ok ? { sdk: reader("sdk-hook") } : {}),
      });
      const rate = (name: string): number[] => (seen[name] ?? []).map(({ ms }) => (count * 1_000) / ms);
      for (const [name, runs] of Object.entries(seen)) {
        const ratio = name === "raw" ? {} : { ratio: { to: "raw", value: ratioOf(rate(name), rate("raw")) } };
        rows.push({ what: `${NAMES[name]}, ${size} events`, value: median(rate(name)), unit: "events/s", ...ratio });
        rows.push({ what: `${NAMES[name]}, ${size} events`, value: median(rss(runs)), unit: "MiB peak RSS" });
      }
      const limit = size === "small" ? 0.7 : 0.8;
      const rates = ratiosOf(rate("adapter"), rate("raw"));
      targets.push({
        what: `${size} events, the adapter's rate`,
        value: median(rates),
        rounds: rates,
        limit,
        kind: "at least",
        unit: "of raw",
        why: "For each message the adapter also checks that it is UTF-8 and strict JSON, tells its kind, keeps a bounded tail of the output as evidence, and makes an event of it.",
      });
      if (sdk.ok) {
        const shares = ratiosOf(rss(seen["adapter"]), rss(seen["sdk"]));
        targets.push({
          what: `${size} events, the adapter's peak memory`,
          value: median(shares),
          rounds: shares,
          limit: 1,
          kind: "at most",
          unit: "of the SDK's",
          why: "Both processes begin with what Node and tsx take; beyond that the adapter's memory is bounded, and garbage that is not collected yet decides.",
        });
      }
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  return {
    title: "The stream of events",
    method: `A scripted claude writes prepared assistant messages (200 bytes and 64 KiB of text) as fast as its pipe takes them; a process of its own reads them, under tsx like the others. "raw" finds line feeds and calls JSON.parse. The adapter is what every event passes: contained process, framing, control channel, mapping. The supervisor adds machine, redaction and the synced log with its artifacts. Agent SDK ${SDK_VERSION}.`,
    rows,
    targets,
    ...(sdk.ok ? {} : { notes: [`The Agent SDK could not be fetched: ${sdk.reason}`] }),
  };
}

const NAMES: Readonly<Record<string, string>> = {
  raw: "raw scan + JSON.parse",
  readline: "node:readline + JSON.parse",
  adapter: "adapter",
  supervisor: "whole supervisor",
  sdk: "Agent SDK",
};

function rss(runs: readonly Consumed[] = []): number[] {
  return runs.map(({ rssMiB }) => rssMiB);
}

/** Assistant messages as Claude Code 2.1.268 prints them, each with its own uuid. */
function stream(count: number, bytes: number): string {
  const text = "The parser drops the last token when a line ends in a comment. "
    .repeat(Math.ceil(bytes / 63))
    .slice(0, bytes);
  const lines = Array.from({ length: count }, (_, index) => {
    const usage = { input_tokens: 12, output_tokens: 34, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 };
    const message = {
      id: `msg_${index}`,
      type: "message",
      role: "assistant",
      model: "bench",
      content: [{ type: "text", text }],
      stop_reason: null,
      usage,
    };
    return JSON.stringify({
      type: "assistant",
      message,
      parent_tool_use_id: null,
      session_id: SESSION,
      uuid: randomUUID(),
    });
  });
  return `${lines.join("\n")}\n`;
}

const SESSION = randomUUID();
