/**
 * What is kept of a command's output, however much there is: a hash over all of it, a redacted beginning and end for
 * the artifact, a redacted tail for people and the worker. Redaction sees the text before anything is cut away.
 * Memory: at most 4 MiB of head, 1 MiB of ring and the redactor's held tail, per running command.
 */
import { createHash } from "node:crypto";
import { StringDecoder } from "node:string_decoder";
import type { Redactor } from "../core/contracts/redaction.ts";
import { createPlainText } from "./plain-text.ts";

export const HEAD_BYTES = 4 * 1024 * 1024;
export const RING_BYTES = 1024 * 1024;
/** Raw bytes at the ring's start whose redacted text is thrown away: a secret that was cut there would show its rest. */
const GUARD_BYTES = 64 * 1024;
export const TAIL_CHARS = 8000;

export interface CapturedOutput {
  bytes: number;
  sha256: string;
  /** Redacted; at most 8,000 characters. */
  tail: string;
  /** Redacted; at most about 5 MiB, with a line that says how much was left out. */
  text: string;
}

export interface OutputCapture {
  push(chunk: Buffer): void;
  finish(): CapturedOutput;
}

export function captureOutput(redactor: Redactor): OutputCapture {
  const hash = createHash("sha256");
  const head = createPipeline(redactor);
  let headText = "";
  let bytes = 0;
  const ring: Buffer[] = [];
  let ringBytes = 0;
  return {
    push(chunk) {
      hash.update(chunk);
      const forHead = Math.max(0, Math.min(chunk.length, HEAD_BYTES - bytes));
      if (forHead > 0) headText += head.push(chunk.subarray(0, forHead));
      bytes += chunk.length;
      // A copy: Node's pipe chunks may be slices of a larger pool.
      ring.push(Buffer.from(chunk.subarray(Math.max(0, chunk.length - RING_BYTES))));
      ringBytes += ring.at(-1)?.length ?? 0;
      for (let first = ring[0]; first !== undefined && ringBytes - first.length >= RING_BYTES; first = ring[0]) {
        ringBytes -= first.length;
        ring.shift();
      }
    },
    finish() {
      const sha256 = hash.digest("hex");
      if (bytes <= HEAD_BYTES) {
        const text = headText + head.end();
        return { bytes, sha256, tail: lastChars(text, TAIL_CHARS), text };
      }
      // What the redactor still holds back of the head may be half a secret: it is dropped, not flushed.
      const raw = Buffer.concat(ring);
      const pipeline = createPipeline(redactor);
      pipeline.push(raw.subarray(0, GUARD_BYTES));
      const end = pipeline.push(raw.subarray(GUARD_BYTES)) + pipeline.end();
      const leftOut = Math.max(0, bytes - HEAD_BYTES - (raw.length - GUARD_BYTES));
      const text = `${headText}\n[… about ${leftOut} bytes left out …]\n${end}`;
      return { bytes, sha256, tail: lastChars(end, TAIL_CHARS), text };
    },
  };
}

/** bytes -> UTF-8 text -> without terminal control sequences -> redacted; every stage may hold back a little. */
function createPipeline(redactor: Redactor): { push(chunk: Buffer): string; end(): string } {
  const decoder = new StringDecoder("utf8");
  const plain = createPlainText();
  const redaction = redactor.stream();
  return {
    push: (chunk) => redaction.push(plain.push(decoder.write(chunk))),
    end: () => redaction.push(plain.push(decoder.end()) + plain.end()) + redaction.end(),
  };
}

/** The last `count` UTF-16 units, never beginning with half a surrogate pair. */
function lastChars(text: string, count: number): string {
  if (text.length <= count) return text;
  const cut = text.slice(text.length - count);
  const first = cut.charCodeAt(0);
  return first >= 0xdc00 && first <= 0xdfff ? cut.slice(1) : cut;
}
