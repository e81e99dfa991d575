/** The event log: what a record costs written, synced alone and synced in a group; opening and verifying a large one. */
import { closeSync, fdatasyncSync, openSync, writeSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createIds } from "../src/platform/ids.ts";
import { tailOfLog, verifyLog } from "../src/store/log-reader.ts";
import { createEventLog, openEventLog } from "../src/store/open-log.ts";
import { generateLog, MIB, readBare, timeOf } from "./bench/log-file.ts";
import { type BenchOptions, inTurns, median, ratioOf, ratiosOf, type Section } from "./bench/measure.ts";

/** Characters of text in a record of the large log: lines of some 520 bytes, as a busy task's are. */
const CHARS = 400;
const VERDICT = {
  type: "gate.verdict",
  data: { toolUseId: "toolu_01ABCDEFGHIJKLMNOPQRSTUV", toolName: "Bash", verdict: "allow", rule: "bash.read-only" },
};

export async function run({ rounds, quick, log }: BenchOptions): Promise<Section> {
  const folder = await mkdtemp(join(tmpdir(), "pcs-bench-log-"));
  try {
    const taskId = createIds().taskId();
    const append = await appending(folder, taskId, rounds, quick);
    const size = quick ? 64 * MIB : 1024 * MIB;
    log(`a log of ${size / MIB} MiB is made, opened and verified, ${rounds} rounds`);
    const path = join(folder, "large.jsonl");
    const records = generateLog(path, taskId, size, CHARS);
    const opening = (): number =>
      timeOf(() => {
        const opened = openEventLog(path, { taskId });
        if (!opened.ok) throw new Error(opened.message);
        opened.log.closeNow();
      });
    const showing = (): number =>
      timeOf(() => {
        const tail = tailOfLog(path, taskId);
        if (!tail.ok) throw new Error(tail.message);
      });
    const opened = Array.from({ length: 51 }, opening);
    const shown = Array.from({ length: 51 }, showing);
    const whole = await inTurns(rounds, {
      bare: () => timeOf(() => void readBare(path)),
      verify: async () => {
        const began = performance.now();
        const verified = await verifyLog(path, taskId);
        if (!verified.ok || verified.records !== records) throw new Error("the log does not verify");
        return performance.now() - began;
      },
    });
    const [bareMs, verifyMs] = [whole["bare"] ?? [], whole["verify"] ?? []];
    const single = ratioOf(append.single, append.group);
    return {
      title: "The log",
      method: `Records of a verdict (about 330 bytes a line), chained by SHA-256. "A group" is 100 records appended and then synced by one fdatasync; "alone" is a sync after each; the bare line is writeSync and fdatasyncSync of the same bytes. Then a log of ${size / MIB} MiB in ${records} records: opening for append and reading its end for status (median of 51), and checking the whole chain against the least a check can do (read, find lines, SHA-256, JSON.parse).`,
      rows: [
        { what: "append, written (survives the process)", value: median(append.written), unit: "µs a record" },
        { what: "append, synced in a group of 100", value: median(append.group), unit: "µs a record" },
        {
          what: "append, synced alone",
          value: median(append.single),
          unit: "µs a record",
          ratio: { to: "in a group", value: single },
        },
        {
          what: "bare write + fdatasync a record",
          value: median(append.bare),
          unit: "µs a record",
          ratio: { to: "in a group", value: ratioOf(append.bare, append.group) },
        },
        { what: "opening for append", value: median(opened), unit: "ms" },
        { what: "reading the end for status", value: median(shown), unit: "ms" },
        { what: "read + SHA-256 + JSON.parse, bare", value: median(bareMs), unit: "ms" },
        {
          what: "the whole chain verified",
          value: median(verifyMs),
          unit: "ms",
          ratio: { to: "bare", value: ratioOf(verifyMs, bareMs) },
        },
      ],
      targets: [
        {
          what: `opening ${size / MIB} MiB for append`,
          value: median(opened),
          limit: 5,
          kind: "at most",
          unit: "ms",
          why: "Opening reads the last record alone; beside that it is the kernel's lock and the disk's answer.",
        },
        {
          what: `the end of ${size / MIB} MiB for status`,
          value: median(shown),
          limit: 5,
          kind: "at most",
          unit: "ms",
          why: "It reads the last record alone; beside that it is the disk's answer.",
        },
        {
          what: `the chain of ${size / MIB} MiB`,
          value: ratioOf(verifyMs, bareMs),
          rounds: ratiosOf(verifyMs, bareMs),
          limit: 1.2,
          kind: "at most",
          unit: "of bare",
          why: "Beside reading, hashing and parsing, each record's number, task and link to the one before are compared, and the reader lets other work of the process in between.",
        },
      ],
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function appending(folder: string, taskId: string, rounds: number, quick: boolean) {
  const path = join(folder, "small.jsonl");
  const created = createEventLog(path);
  const opened = created.ok ? openEventLog(path, { taskId }) : created;
  if (!opened.ok) throw new Error(opened.message);
  const { log } = opened;
  const bareFd = openSync(join(folder, "bare.jsonl"), "wx", 0o600);
  const line = Buffer.from(`${JSON.stringify(VERDICT)}${" ".repeat(200)}\n`);
  const batch = Array.from({ length: 100 }, () => VERDICT);
  const must = (result: { ok: boolean }): void => {
    if (!result.ok) throw new Error(JSON.stringify(result));
  };
  const count = quick ? 50 : 300;
  const per = async (times: number, records: number, work: () => Promise<void> | void): Promise<number> => {
    const began = performance.now();
    for (let at = 0; at < times; at += 1) await work();
    return ((performance.now() - began) * 1_000) / (times * records);
  };
  try {
    const seen = await inTurns(rounds, {
      written: () => per(count * 20, 1, () => must(log.append([VERDICT]))),
      group: () =>
        per(count / 10, 100, async () => {
          must(log.append(batch));
          must(await log.sync());
        }),
      single: () =>
        per(count, 1, async () => {
          must(log.append([VERDICT]));
          must(await log.sync());
        }),
      bare: () =>
        per(count, 1, () => {
          writeSync(bareFd, line);
          fdatasyncSync(bareFd);
        }),
    });
    return {
      written: seen["written"] ?? [],
      group: seen["group"] ?? [],
      single: seen["single"] ?? [],
      bare: seen["bare"] ?? [],
    };
  } finally {
    await log.close();
    closeSync(bareFd);
  }
}
