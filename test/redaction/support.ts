/** Values that look like secrets, made up at run time. */
import { randomBytes } from "node:crypto";

const BASE62 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

export function letters(length: number, alphabet = BASE62): string {
  return [...randomBytes(length)].map((byte) => alphabet[byte % alphabet.length]).join("");
}

export function githubToken(): string {
  return `ghp_${letters(36)}`;
}

/** A private key as PEM, in lines of 64 characters. */
export function privateKey(lines = 20): string {
  const body = Array.from({ length: lines }, () => letters(64, `${BASE62}+/`)).join("\n");
  return `-----BEGIN PRIVATE KEY-----\n${body}\n-----END PRIVATE KEY-----`;
}

export function cpuMilliseconds(work: () => void): number {
  const began = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(began);
  return (user + system) / 1_000;
}
