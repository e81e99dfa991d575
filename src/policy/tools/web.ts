/** WebFetch and WebSearch: where the request would go decides. */
import type { Gate } from "../gate.ts";
import type { Fields } from "./shapes.ts";

/** Addresses at which clouds hand out credentials. */
const METADATA_HOSTS = new Set([
  "169.254.169.254",
  "169.254.170.2",
  "169.254.170.23",
  "100.100.100.200",
  "192.0.0.192",
  "fd00:ec2::254",
  "metadata",
  "metadata.google.internal",
  "metadata.goog",
  "instance-data",
  "instance-data.ec2.internal",
]);
const LOCAL_SUFFIXES = [
  ".local",
  ".localhost",
  ".internal",
  ".lan",
  ".home",
  ".intranet",
  ".corp",
  ".home.arpa",
  ".test",
  ".invalid",
];

export type HostKind = "metadata" | "near" | "public";

export function judgeWebFetch(fields: Fields, gate: Gate): void {
  const text = typeof fields.url === "string" ? fields.url : "";
  judgeUrl(text, gate);
  gate.report.allow("tool.WebFetch", "It reads a page from an allowed host.");
}

export function judgeWebSearch(gate: Gate): void {
  if (gate.context.profile === "open")
    gate.report.allow("tool.WebSearch", "The open profile may read from the network.");
  else gate.report.review("web.search", "The search words leave the machine.", "WebSearch");
}

/** Judges an address that would be read; also used for `curl` and its kin. */
export function judgeUrl(text: string, gate: Gate): void {
  const url = parseUrl(text);
  if (url === undefined) {
    gate.report.review("web.address", "The address cannot be read.", text);
    return;
  }
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    gate.report.review("web.scheme", "Only web addresses are read.", text);
    return;
  }
  if (url.username !== "" || url.password !== "")
    gate.report.review("web.credentials", "The address carries a credential.", url.host);
  const host = bareHost(url);
  const kind = hostKind(host);
  if (kind === "metadata") {
    gate.report.deny("web.metadata", "A cloud's metadata address hands out credentials.", host);
    return;
  }
  if ((gate.context.allowedHosts ?? []).some((allowed) => matchesHost(host, allowed))) return;
  if (kind === "near") {
    gate.report.review("web.near", "A service of this machine or its network.", host);
    return;
  }
  if (gate.context.profile !== "open") gate.report.review("web.public", "It reads from the network.", host);
}

function parseUrl(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}

function bareHost(url: URL): string {
  return url.hostname
    .replace(/^\[|\]$/g, "")
    .replace(/\.$/, "")
    .toLowerCase();
}

function matchesHost(host: string, allowed: string): boolean {
  const wanted = allowed.toLowerCase();
  return wanted.startsWith("*.") ? host.endsWith(wanted.slice(1)) : host === wanted;
}

export function hostKind(host: string): HostKind {
  const plain = unmapped(host);
  if (METADATA_HOSTS.has(plain)) return "metadata";
  if (!plain.includes(".") && !plain.includes(":")) return "near";
  if (LOCAL_SUFFIXES.some((suffix) => plain.endsWith(suffix))) return "near";
  if (/^\d+\.\d+\.\d+\.\d+$/.test(plain)) return isNearV4(plain) ? "near" : "public";
  if (plain.includes(":"))
    return /^(?:::|::1|f[cd][0-9a-f]{2}:.*|fe[89ab][0-9a-f]:.*)$/.test(plain) ? "near" : "public";
  // Names that resolve to an address written in them.
  if (/\.(?:nip|sslip|xip)\.io$/.test(plain) || plain.endsWith(".localtest.me") || plain === "localtest.me")
    return "near";
  return "public";
}

/** An IPv4 address inside IPv6 (`::ffff:7f00:1`) as plain IPv4. */
function unmapped(host: string): string {
  const match = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(host);
  if (match === null) return host;
  const high = Number.parseInt(match[1] ?? "0", 16);
  const low = Number.parseInt(match[2] ?? "0", 16);
  return `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`;
}

function isNearV4(address: string): boolean {
  const [a = 0, b = 0] = address.split(".").map(Number);
  return (
    a === 0 ||
    a === 10 ||
    a === 127 ||
    (a === 100 && b >= 64 && b < 128) ||
    (a === 169 && b === 254) ||
    (a === 172 && b >= 16 && b < 32) ||
    (a === 192 && b === 168) ||
    (a === 198 && (b === 18 || b === 19)) ||
    a >= 224
  );
}
