/** Which names announce a secret: `DB_PASSWORD`, `apiKey`, `X-Api-Key`, `oauth_token`. */

/**
 * `strong`: whatever stands there is a secret, weak passwords too. `weak`: only what looks random (a `token` may be a
 * word of a parser, a `session` a name). `query`: only in addresses and forms (`sig`, `code`, `key`).
 */
export type NameStrength = "strong" | "weak" | "query";

export interface SecretName {
  strength: NameStrength;
  /** For the marker. */
  kind: string;
}

const STRONG_ENDINGS: [ending: string, kind: string][] = [
  ["password", "password"],
  ["passwd", "password"],
  ["passwords", "password"],
  ["passwort", "password"],
  ["passphrase", "password"],
  ["passcode", "password"],
  ["userpass", "password"],
  ["dbpass", "password"],
  ["pwd", "password"],
  ["secret", "secret"],
  ["secretkey", "secret"],
  ["secretkeybase", "secret"],
  ["secretaccesskey", "secret"],
  ["apikey", "api-key"],
  ["apisecret", "secret"],
  ["privatekey", "private-key"],
  ["clientkeydata", "private-key"],
  ["encryptionkey", "secret"],
  ["signingkey", "secret"],
  ["masterkey", "secret"],
  ["accesstoken", "token"],
  ["refreshtoken", "token"],
  ["authtoken", "token"],
  ["bearertoken", "token"],
  ["apitoken", "token"],
  ["oauthtoken", "token"],
  ["sessiontoken", "token"],
  ["securitytoken", "token"],
  ["identitytoken", "token"],
  ["registrytoken", "token"],
  ["idtoken", "token"],
];

const WEAK_ENDINGS: [ending: string, kind: string][] = [
  ["token", "token"],
  ["tokens", "token"],
  ["secrets", "secret"],
  ["apikeys", "api-key"],
  ["accesskey", "secret"],
  ["accountkey", "secret"],
  ["primarykey", "secret"],
  ["secondarykey", "secret"],
  ["sharedkey", "secret"],
  ["subscriptionkey", "secret"],
  ["authkey", "secret"],
  ["sessionkey", "secret"],
  ["storagekey", "secret"],
  ["servicekey", "secret"],
  ["servicerolekey", "secret"],
  ["licensekey", "secret"],
  ["deploykey", "secret"],
  ["consumerkey", "secret"],
  ["integrationkey", "secret"],
  ["writekey", "secret"],
  ["appkey", "secret"],
  ["hmackey", "secret"],
  ["jwtkey", "secret"],
  ["aeskey", "secret"],
  ["cryptkey", "secret"],
  ["webhook", "webhook"],
  ["webhookurl", "webhook"],
  ["credential", "credential"],
  ["credentials", "credential"],
];

/** Only as the last part of a name, or as the whole name. */
const LAST_PARTS = new Map<string, SecretName>([
  ["pass", { strength: "weak", kind: "password" }],
  ["jwt", { strength: "weak", kind: "token" }],
  ["auth", { strength: "weak", kind: "credential" }],
  ["sid", { strength: "weak", kind: "session" }],
  ["session", { strength: "weak", kind: "session" }],
  ["sessionid", { strength: "query", kind: "session" }],
  ["phpsessid", { strength: "weak", kind: "session" }],
  ["jsessionid", { strength: "weak", kind: "session" }],
  ["pat", { strength: "weak", kind: "token" }],
  ["sig", { strength: "query", kind: "signature" }],
  ["signature", { strength: "query", kind: "signature" }],
  ["code", { strength: "query", kind: "code" }],
  ["key", { strength: "query", kind: "api-key" }],
  ["hmac", { strength: "query", kind: "signature" }],
  ["otp", { strength: "query", kind: "code" }],
]);

/** Names that end like a secret's and are none. */
const HARMLESS =
  /(?:next|page|continuation|cancel|cancellation|cursor|sync|pad|padding|eos|bos|unk|sep|cls|mask|stop|special|design|max|min|num|total|per|unexpected|invalid|current|peek|prev|previous|syntax|lexer|parser|input|output|cached|prompt|completion|reasoning)_?tokens?$/;

/** Endings that say which one of several it is. */
const QUALIFIERS =
  /(?:[\s_.-]*(?:\d{1,4}|old|new|prev|previous|current|primary|secondary|backup|prod|production|dev|development|test|testing|staging|stage|live|sandbox|value|plain|plaintext|raw|b64|base64|text|string|str|default|ci|local|main|override))+$/;

const LONGEST_NAME = 80;
const MEMORY = 2_000;
type Announced = SecretName | "authorization" | "cookie" | undefined;
const known = new Map<string, Announced>();

/** What a name announces, or undefined. Remembers the last couple of thousand names. */
export function secretName(name: string): Announced {
  if (name.length > LONGEST_NAME) return secretName(name.slice(-LONGEST_NAME));
  if (known.has(name)) return known.get(name);
  if (known.size >= MEMORY) known.clear();
  const answer = classify(name);
  known.set(name, answer);
  return answer;
}

function classify(name: string): Announced {
  const whole = withoutQualifiers(spaced(name));
  const flat = whole.replace(/[^a-z0-9]/g, "");
  if (flat === "" || HARMLESS.test(whole.replace(/ /g, "_"))) return undefined;
  if (flat === "pwd" || flat === "oldpwd") return /pwd/.test(name) || /Pwd/.test(name) ? strong("password") : undefined;
  if (flat.endsWith("publickey")) return undefined;
  if (flat.endsWith("authorization")) return "authorization";
  if (flat.endsWith("cookie")) return "cookie";
  for (const [ending, kind] of STRONG_ENDINGS) if (flat.endsWith(ending)) return strong(kind);
  for (const [ending, kind] of WEAK_ENDINGS) if (flat.endsWith(ending)) return weakOrStrong(ending, kind, name, flat);
  const parts = whole.split(" ");
  const last = LAST_PARTS.get(parts[parts.length - 1] ?? "");
  if (last?.kind === "password" && parts.length > 1) return strong("password");
  return last;
}

function strong(kind: string): SecretName {
  return { strength: "strong", kind };
}

/** `DEPLOY_TOKEN`, `npmToken`: a token that belongs to something; a bare `token` may be anything. */
function weakOrStrong(ending: string, kind: string, name: string, flat: string): SecretName {
  const isOwned = ending === "token" && flat.length > ending.length && /^[A-Z0-9_]+$/.test(name);
  return isOwned ? strong(kind) : { strength: "weak", kind };
}

/** Camel case and separators as blanks: `X-Api-Key` is `x api key`. */
function spaced(name: string): string {
  return name
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .replace(/([A-Z]{2,})([A-Z][a-z])/g, "$1 $2")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, " ")
    .trim();
}

function withoutQualifiers(name: string): string {
  const bare = name.replace(QUALIFIERS, "");
  return bare === "" ? name : bare;
}

/** How the last three letters of the words above end; a cheap first look at each word of a text. */
export const NAME_ENDS: Uint8Array = ends();

export function endKey(text: string, end: number): number {
  const a = text.charCodeAt(end - 3) | 32;
  const b = text.charCodeAt(end - 2) | 32;
  const c = text.charCodeAt(end - 1) | 32;
  return (a * 961 + b * 31 + c) & 4095;
}

function ends(): Uint8Array {
  const table = new Uint8Array(4096);
  const words = [...STRONG_ENDINGS, ...WEAK_ENDINGS].map(([ending]) => ending);
  const triggers =
    "authorization cookie bearer basic user services workflows triggers webhooks webhookb2 webhook catch identified begin lines redacted";
  for (const word of [...words, ...LAST_PARTS.keys(), ...triggers.split(" ")]) {
    if (word.length >= 3) table[endKey(word, word.length)] = 1;
  }
  return table;
}
