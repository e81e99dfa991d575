/** npm archives (gzip'd tar) in memory: what is published is judged by its own bytes, not by the folder it came from. */
import { gunzipSync, gzipSync } from "node:zlib";

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

/** An archive as npm makes them, for a registry of a test's own. Throws on a path that a plain header cannot hold. */
export function writeArchive(files: readonly Pick<ArchiveFile, "path" | "mode" | "content">[]): Buffer {
  const parts = files.flatMap(({ path, mode, content }) => {
    const header = Buffer.alloc(BLOCK);
    header.write(nameField(`package/${path}`), 0);
    header.write(prefixField(`package/${path}`), 345);
    header.write(`${mode.toString(8).padStart(7, "0")}\0`, 100);
    header.write("0000000\0", 108);
    header.write("0000000\0", 116);
    header.write(`${content.length.toString(8).padStart(11, "0")}\0`, 124);
    header.write("00000000000\0", 136);
    header.write("        ", 148);
    header.write("0", 156);
    header.write("ustar\u000000", 257);
    const sum = header.reduce((total, byte) => total + byte, 0);
    header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
    return [header, content, Buffer.alloc((BLOCK - (content.length % BLOCK)) % BLOCK)];
  });
  return gzipSync(Buffer.concat([...parts, Buffer.alloc(2 * BLOCK)]));
}

function nameField(path: string): string {
  return path.length <= 100 ? path : path.slice(splitAt(path) + 1);
}

function prefixField(path: string): string {
  return path.length <= 100 ? "" : path.slice(0, splitAt(path));
}

function splitAt(path: string): number {
  const at = path.indexOf("/", path.length - 101);
  if (at < 0 || at > 155) throw new Error(`the path does not fit into a tar header: ${path}`);
  return at;
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
