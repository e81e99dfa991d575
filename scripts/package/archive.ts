/** Reads an npm archive (gzip'd tar) into memory: what is published is judged by its own bytes, not by the folder it came from. */
import { gunzipSync } from "node:zlib";

export interface ArchiveFile {
  /** Below `package/`, with `/`. */
  path: string;
  /** Permission bits. */
  mode: number;
  /** `file`, or what tar calls it otherwise: nothing but files belongs into an archive. */
  kind: "file" | "link" | "other";
  content: Buffer;
}

const BLOCK = 512;

/** Throws on an archive that is no tar. Memory: the unpacked size twice; npm's are a few MB. */
export function readArchive(archive: Buffer): ArchiveFile[] {
  const tar = gunzipSync(archive);
  const files: ArchiveFile[] = [];
  let longName: string | undefined;
  for (let at = 0; at + BLOCK <= tar.length; ) {
    const header = tar.subarray(at, at + BLOCK);
    if (header.every((byte) => byte === 0)) break;
    if (text(header, 257, 5) !== "ustar") throw new Error(`no tar header at byte ${at}`);
    const size = octal(header, 124, 12);
    const type = text(header, 156, 1);
    const content = tar.subarray(at + BLOCK, at + BLOCK + size);
    at += BLOCK + Math.ceil(size / BLOCK) * BLOCK;
    if (type === "x" || type === "g") {
      longName = paxPath(content) ?? longName;
      continue;
    }
    const prefix = text(header, 345, 155);
    const name = longName ?? (prefix === "" ? text(header, 0, 100) : `${prefix}/${text(header, 0, 100)}`);
    longName = undefined;
    files.push({
      path: name.replace(/^package\//, ""),
      mode: octal(header, 100, 8) & 0o7777,
      kind: type === "0" || type === "" ? "file" : type === "1" || type === "2" ? "link" : "other",
      content: Buffer.from(content),
    });
  }
  return files;
}

function text(header: Buffer, at: number, length: number): string {
  const field = header.subarray(at, at + length);
  const end = field.indexOf(0);
  return field.toString("utf8", 0, end < 0 ? length : end);
}

function octal(header: Buffer, at: number, length: number): number {
  return Number.parseInt(text(header, at, length).trim() || "0", 8);
}

/** A pax record is `<length> path=<value>\n`. */
function paxPath(records: Buffer): string | undefined {
  return /(?:^|\n)\d+ path=([^\n]*)\n/.exec(records.toString("utf8"))?.[1];
}
