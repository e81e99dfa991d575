/**
 * Keeps broken lines for people, in the background: byte for byte, but for what the redactor hides. Bytes travel as
 * Latin-1 text, so that every byte that is no secret comes out as it went in.
 */
import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import type { Redactor } from "../core/contracts/redaction.ts";

/** One worker keeps this many lines and bytes at most; later ones are only reported. */
export const MAX_ARTIFACTS = 20;
export const MAX_ARTIFACT_BYTES = 32 * 1024 * 1024;
/** Redacted in one go, so that a long line does not hold up the rest of Pi. */
const PIECE_BYTES = 64 * 1024;

export interface ArtifactKeeperOptions {
  directory: string;
  prefix: string;
  redactor: Pick<Redactor, "stream">;
  /** A file could not be written. */
  lost(name: string, reason: string): void;
}

export class ArtifactKeeper {
  readonly #options: ArtifactKeeperOptions;
  #count = 0;
  #bytes = 0;
  /** Settled when everything that was kept so far is on disk or lost. */
  settled: Promise<void> = Promise.resolve();

  constructor(options: ArtifactKeeperOptions) {
    this.#options = options;
  }

  /** The file's name in the artifact folder, before it is written; `undefined` when the bound is reached. */
  keep(bytes: Buffer): string | undefined {
    if (this.#count >= MAX_ARTIFACTS || this.#bytes + bytes.length > MAX_ARTIFACT_BYTES) return undefined;
    this.#count++;
    this.#bytes += bytes.length;
    const name = `${this.#options.prefix}-line-${this.#count}.bin`;
    this.settled = this.settled.then(() => this.#write(name, bytes));
    return name;
  }

  async #write(name: string, bytes: Buffer): Promise<void> {
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
    try {
      const file = await open(join(this.#options.directory, name), flags, 0o600);
      try {
        const stream = this.#options.redactor.stream();
        for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
          const piece = stream.push(bytes.toString("latin1", at, at + PIECE_BYTES));
          await file.write(Buffer.from(piece, "latin1"));
          await setImmediate();
        }
        await file.write(Buffer.from(stream.end(), "latin1"));
      } finally {
        await file.close();
      }
    } catch (error) {
      this.#options.lost(name, error instanceof Error ? error.message : String(error));
    }
  }
}
