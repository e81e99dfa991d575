/** Speed of the redactor: MB/s on ordinary text and ms on hostile megabytes, by CPU time. */
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { createRedactor } from "../src/redaction/index.ts";
import type { BenchOptions, Row, Section } from "./bench/measure.ts";

const MEGABYTE = 1_000_000;
const redactor = createRedactor({ salt: "bench" });
const knowing = createRedactor({
  salt: "bench",
  known: Array.from({ length: 10 }, () => randomBytes(18).toString("base64url")),
});

function fill(piece: string, length: number): string {
  const text = piece.repeat(Math.ceil(length / piece.length)).slice(0, length);
  return Buffer.from(text, "utf8").toString("utf8"); // as read from a pipe: one flat string
}

/** Least CPU time of one round, ms: what other processes take does not count. */
function best(rounds: number, work: () => void): number {
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round < rounds; round++) {
    const began = process.cpuUsage();
    work();
    const { user, system } = process.cpuUsage(began);
    least = Math.min(least, (user + system) / 1_000);
  }
  return least;
}

const prose =
  "The worker keeps one descriptor open and writes a record for each event before it answers. A stop wins over " +
  "everything that races it, and what arrives late is recorded as late. Numbers that were not reported are absent.\n";
const source = readFileSync(new URL("../src/redaction/scanner.ts", import.meta.url), "utf8");
const lock = readFileSync(new URL("../package-lock.json", import.meta.url), "utf8");
const logLine =
  "2030-01-01T00:00:00.000Z [info] GET /api/items/42?page=3 200 12.4 ms id=0f8fad5b-d9cb-469f-a165-70867728950e\n";
const events = `${JSON.stringify({ type: "assistant", message: { id: "msg_01", content: [{ type: "text", text: prose }] } })}\n`;

const letters = randomBytes(MEGABYTE).toString("base64").replace(/[+/=]/g, "").slice(0, MEGABYTE);
const hostile: Record<string, string> = {
  "one word": letters,
  eyJ: fill("eyJ", MEGABYTE),
  "eyJ parts": fill("eyJhbGciOi.", MEGABYTE),
  BEGIN: fill("-----BEGIN ", MEGABYTE),
  "BEGIN PRIVATE KEY": fill("-----BEGIN PRIVATE KEY-----\n", MEGABYTE),
  "token=token=": fill("token=", MEGABYTE),
  "password: password:": fill("password: ", MEGABYTE),
  'password=" unclosed': `password="${fill("password=", MEGABYTE)}`,
  "sk-sk-": fill("sk-", MEGABYTE),
  "sk-ant-": fill("sk-ant-", MEGABYTE),
  "xoxb-": fill("xoxb-", MEGABYTE),
  "://a:": fill("a://b:", MEGABYTE),
  "://a:b": `https://${fill("a:b", MEGABYTE)}`,
  percent: fill("%25", MEGABYTE),
  "percent words": fill("ab%20", MEGABYTE),
  "unicode escapes": fill("\\u0041", MEGABYTE),
  backslashes: fill("\\", MEGABYTE),
  quotes: fill('"', MEGABYTE),
  "key quotes": fill('token"\\"', MEGABYTE),
  "base64 text": Buffer.from(fill(prose, MEGABYTE * 0.75)).toString("base64"),
  "base64 paths": fill(`${Buffer.from(prose).toString("base64").slice(0, 20)}/`, MEGABYTE),
  Bearer: fill("Bearer ", MEGABYTE),
  cookies: `Cookie: ${fill("sid=a; ", MEGABYTE)}`,
  "many tokens": fill(`ghp_${letters.slice(0, 36)} `, MEGABYTE),
  "many keys": fill(`AKIA${"A2B3C4D5E6F7G2H3"} `, MEGABYTE),
  "digits:": fill("123456789:", MEGABYTE),
  underscores: fill("a_b=", MEGABYTE),
  dashes: fill("-", MEGABYTE),
  spaces: fill(" ", MEGABYTE),
  "name value": fill('"name":"api_key", ', MEGABYTE),
  "user option": fill(" -u a", MEGABYTE),
  "pem lines": `-----BEGIN PRIVATE KEY-----\n${fill(`${letters.slice(0, 64)}\n`, MEGABYTE)}`,
  markers: fill("[redacted:password:abcdef]", MEGABYTE),
  brackets: fill("password=[redacted:", MEGABYTE),
};
export async function run({ quick, log }: BenchOptions): Promise<Section> {
  const [many, some] = quick ? [2, 1] : [7, 2];
  log("a megabyte of each kind of text");
  const rows: Row[] = [];
  for (const [name, piece] of Object.entries({ prose, source, lock, log: logLine, events })) {
    const text = fill(piece, MEGABYTE);
    const rate = (ms: number): number => MEGABYTE / 1_000 / ms;
    rows.push({ what: `${name}, whole`, value: rate(best(many, () => redactor.text(text))), unit: "MB/s" });
    rows.push({
      what: `${name}, with ten known values`,
      value: rate(best(many, () => knowing.text(text))),
      unit: "MB/s",
    });
    rows.push({
      what: `${name}, as a stream of 4 KB`,
      value: rate(best(some, () => streamed(text, 4_096))),
      unit: "MB/s",
    });
  }
  let slowest = { name: "", ms: 0 };
  for (const [name, text] of Object.entries(hostile)) {
    const ms = Math.max(
      best(some, () => redactor.text(text)),
      best(some, () => streamed(text, 997)),
    );
    if (ms > slowest.ms) slowest = { name, ms };
  }
  rows.push({
    what: `slowest hostile megabyte of ${Object.keys(hostile).length} (${slowest.name})`,
    value: slowest.ms,
    unit: "ms",
  });
  return {
    title: "The redactor",
    method:
      "Least CPU time of several runs on one megabyte. Hostile texts are runs of what looks like the beginning of a secret.",
    rows,
    targets: [],
  };
}

function streamed(text: string, size: number): void {
  const stream = redactor.stream();
  for (let at = 0; at < text.length; at += size) stream.push(text.slice(at, at + size));
  stream.end();
}
