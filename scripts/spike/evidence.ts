/**
 * What a spike writes down: numbers, codes and times, never a text that came from a model, a tool or a person. The
 * format is described in docs/spikes.md.
 */
import type { WorkerCapabilities } from "../../src/core/contracts/worker.ts";

/** What has to be known of a transport before it is trusted. */
export const TOPICS = [
  "start-up",
  "prompt-delivery",
  "framing",
  "permissions",
  "duplicate-message",
  "timeout",
  "recovery",
  "takeover-and-resume",
  "stop",
  "crash",
  "group-cleanup",
  "automation",
] as const;

export type Topic = (typeof TOPICS)[number];

export type Fact = string | number | boolean | null | readonly string[];

export interface Check {
  name: string;
  topic: Topic;
  ok: boolean;
  /** Milliseconds that it took. */
  ms: number;
  /** Counts, codes and times that were seen. */
  observed: Readonly<Record<string, Fact>>;
  /** Why it is not ok, without any text of the conversation. */
  problem?: string;
}

export interface Exit {
  check: string;
  code: number | null;
  signal: string | null;
}

export interface ClaudeFacts {
  version: string;
  /** As configured or found on PATH. */
  path: string;
  realPath: string;
  /** Bytes. */
  size: number;
  /** Of the first MiB. */
  sha256: string;
  /** The npm package that the program lies in; `unknown` when there is none. */
  package: string;
  license: string;
  sourceRevision: string;
}

export interface SecretSearch {
  /** How many values were looked for. */
  values: number;
  /** Where, with the number of bytes looked through. */
  places: Readonly<Record<string, number>>;
  /** The planted value did pass through the worker's output, so that its absence elsewhere means something. */
  passedThrough: boolean;
  /** Names of the places where one was found. */
  found: readonly string[];
}

export interface Evidence {
  schema: 1;
  spike: string;
  mode: "authenticated" | "scripted";
  /** ISO 8601, UTC. */
  startedAt: string;
  durationMs: number;
  host: { platform: string; arch: string; node: string };
  claude: ClaudeFacts;
  adapter: {
    transport: string;
    capabilities: WorkerCapabilities;
    shell: false;
    /** Names of the variables that reach the worker, no values. */
    envNames: readonly string[];
    /** Flags of the command line, no values. */
    flags: readonly string[];
  };
  /** `elsewhere`: another spike covers it. */
  topics: Readonly<Record<Topic, "ok" | "failed" | "elsewhere">>;
  checks: readonly Check[];
  exits: readonly Exit[];
  /** How many events of each type the adapter reported, over all workers. */
  events: Readonly<Record<string, number>>;
  secrets: SecretSearch;
  /** What had to be cleaned away at the end. */
  left: { processes: number; sessionFiles: number };
  ok: boolean;
}

export function topicsOf(checks: readonly Check[]): Evidence["topics"] {
  const verdict = (topic: Topic): "ok" | "failed" | "elsewhere" => {
    const mine = checks.filter((check) => check.topic === topic);
    if (mine.length === 0) return "elsewhere";
    return mine.every((check) => check.ok) ? "ok" : "failed";
  };
  return Object.fromEntries(TOPICS.map((topic) => [topic, verdict(topic)])) as Evidence["topics"];
}

/** Names of the places that hold one of the values, whole. */
export function placesWithSecret(values: readonly string[], places: ReadonlyMap<string, string>): string[] {
  return [...places].flatMap(([name, text]) => (values.some((value) => text.includes(value)) ? [name] : []));
}
