/** Secrets made up at run time, and the search for what may be left of them. */
import assert from "node:assert/strict";
import { generateKeyPairSync, randomBytes, randomInt } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

export type TokenKind = "github" | "aws" | "slack" | "anthropic";

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const DIGITS = "0123456789";
const UPPER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

const of = (alphabet: string, length: number): string =>
  Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join("");

/** Live-looking, never live. */
export function token(kind: TokenKind): string {
  switch (kind) {
    case "github":
      return ["ghp", of(ALPHABET, 36)].join("_");
    case "aws":
      return ["AKIA", of(UPPER, 16)].join("");
    case "slack":
      return ["xoxb", of(DIGITS, 12), of(DIGITS, 13), of(ALPHABET, 24)].join("-");
    case "anthropic":
      return ["sk", "ant", "api03", `${of(ALPHABET, 93)}AA`].join("-");
  }
}

/** A private key in PEM. */
export function pemKey(): string {
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  return String(privateKey.export({ type: "pkcs8", format: "pem" }));
}

/** A value that only its variable's name makes a secret. */
export function plainSecret(): string {
  return `lab-${randomBytes(24).toString("hex")}`;
}

export function pieces(text: string, count: number): string[] {
  const size = Math.ceil(text.length / count);
  return Array.from({ length: count }, (_, index) => text.slice(index * size, (index + 1) * size));
}

/** Characters of a secret's random part that are a trace: what is shorter could stand anywhere. */
const TRACE = 10;

/** Parts of a secret that must not be found: every window of its lines, the first word of its prefix left out. */
function tracesOf(secret: string): string[] {
  return secret
    .split("\n")
    .filter((line) => !line.startsWith("-----") && line.length >= TRACE)
    .flatMap((line) => {
      const body = line.replace(/^(?:ghp_|AKIA|xoxb-|sk-ant-api03-|lab-)/, "");
      return Array.from({ length: Math.max(1, body.length - TRACE + 1) }, (_, at) => body.slice(at, at + TRACE));
    });
}

/** Where a trace of a secret stands: in files under `folder`, or in one of the texts. */
export async function assertNoTrace(
  secrets: readonly string[],
  folder: string,
  texts: readonly string[],
): Promise<void> {
  const traces = secrets.flatMap(tracesOf);
  const found: string[] = [];
  const look = (where: string, content: string): void => {
    const trace = traces.find((one) => content.includes(one));
    if (trace === undefined) return;
    const at = content.indexOf(trace);
    found.push(`${where}: …${content.slice(Math.max(0, at - 160), at + 60)}…`);
  };
  const files = await filesUnder(folder);
  for (const path of files) {
    look(path, path);
    // A file that is being replaced may be gone by now.
    look(path, (await readFile(path).catch(() => Buffer.alloc(0))).toString("latin1"));
  }
  for (const [index, text] of texts.entries()) look(`text ${index}`, text);
  assert.deepEqual(found, []);
}

async function filesUnder(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const lists = entries.map((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return filesUnder(path);
    return Promise.resolve(entry.isFile() ? [path] : []);
  });
  return (await Promise.all(lists)).flat();
}
