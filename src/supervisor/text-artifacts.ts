/**
 * Texts that are too long for the log, kept whole (and redacted) beside it. The name is known at once; the file follows
 * in the next turn of the event loop, so that no line of the worker waits for the disk.
 */
import { createHash } from "node:crypto";
import type { RedactionStream } from "../core/contracts/redaction.ts";
import { type Artifacts, openArtifacts } from "../store/artifacts.ts";
import type { ArtifactSink } from "../verifier/index.ts";
import { PREVIEW_CHARS } from "./bounds.ts";

/** Longer texts are cut by the artifact store; then their name is not known before. */
const MAX_CHARS = 4 * 1024 * 1024;
/** Texts on their way to the disk (characters); beyond it only the preview is kept. */
const MAX_PENDING_CHARS = 32 * 1024 * 1024;

/** What is written here is redacted already. */
const PASS: RedactionStream = { push: (chunk) => chunk, end: () => "" };

export class TextArtifacts implements ArtifactSink {
  readonly #folder: string;
  #opened: Artifacts | null = null;
  #pending = 0;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** The name of the artifact of a redacted text that a preview would cut; nothing for shorter ones. */
  keep(text: string): { artifact?: string } {
    if (text.length <= PREVIEW_CHARS || text.length > MAX_CHARS) return {};
    if (this.#pending + text.length > MAX_PENDING_CHARS) return {};
    this.#pending += text.length;
    setImmediate(() => {
      this.#pending -= text.length;
      this.#store(text);
    });
    return { artifact: createHash("sha256").update(text).digest("hex") };
  }

  async write(_hint: string, text: string): Promise<string> {
    return this.#store(text) ?? "";
  }

  #store(text: string): string | undefined {
    const artifacts = this.#open();
    const writer = artifacts?.writer(PASS);
    writer?.push(text);
    const ended = writer?.end();
    return ended?.ok ? ended.artifact.name : undefined;
  }

  #open(): Artifacts | null {
    if (this.#opened) return this.#opened;
    const opened = openArtifacts(this.#folder);
    this.#opened = opened.ok ? opened.artifacts : null;
    return this.#opened;
  }
}
