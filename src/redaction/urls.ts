/** Credentials in addresses: `scheme://name:password@host`, and hook addresses whose path is the secret. */
import { BASE64URL, isQuote, isSpace } from "./chars.ts";
import type { Hit } from "./hit.ts";
import { MARKER_MAX, markerEnd } from "./marker.ts";
import { isMetavariable, isNumber, isPlaceholder, looksRandom } from "./shape.ts";
import type { Source } from "./source.ts";

const MAX_AUTHORITY = 2_048;
const PORT_AND_MORE = /^\d{1,5}[?#/]/;

/** Looks at what follows a scheme word that ends at `end`, where a colon stands. */
export function addressAt(source: Source, end: number): Hit | undefined {
  const at = slashesEnd(source, end + 1);
  if (at < 0) return undefined;
  let colon = -1;
  let sign = -1;
  let to = at;
  for (; to - at < MAX_AUTHORITY; to++) {
    const code = source.at(to);
    const marked = code === 91 ? markerEnd(source.slice(to, MARKER_MAX), 0) : -1;
    if (marked > 0) {
      to += marked - 1;
      continue;
    }
    if (code === -1 || isSpace(code) || isQuote(code) || code === 60 || code === 62 || code === 47 || code === 92)
      break;
    if ((code === 63 || code === 35) && (sign >= 0 || colon < 0)) break; // ? and # before a password cannot be its part
    if (code === 58 && colon < 0) colon = to;
    if (code === 64) sign = to;
  }
  if (sign < 0) return undefined;
  if (colon < 0 || colon > sign) return nameAt(source, at, sign);
  const password = source.text.slice(colon + 1, sign);
  if (PORT_AND_MORE.test(password)) return undefined;
  const name = nameAt(source, at, colon);
  if (isPlaceholder(password, false) || isMetavariable(password)) return name;
  if (name) return { ...name, end: sign, secret: source.text.slice(at, sign) };
  return { start: colon + 1, end: sign, kind: "url-password", secret: password };
}

/** The name before the `@` is itself a token. */
function nameAt(source: Source, from: number, to: number): Hit | undefined {
  const name = source.text.slice(from, to);
  if (name.length < 16 || name.length > 1_024 || isPlaceholder(name) || isNumber(name) || !looksRandom(name))
    return undefined;
  return { start: from, end: to, kind: "url-password", secret: name };
}

/** Index after `//` or `\/\/` (JSON of some writers), or -1. */
function slashesEnd(source: Source, at: number): number {
  if (source.at(at) === 47 && source.at(at + 1) === 47) return at + 2;
  if (source.startsWith("\\/\\/", at)) return at + 4;
  return -1;
}

const HOOKS: { word: string; before: RegExp; segments: number }[] = [
  { word: "services", before: /hooks\.slack(?:-gov)?\.com\\?\/$/i, segments: 3 },
  { word: "workflows", before: /hooks\.slack(?:-gov)?\.com\\?\/$/i, segments: 4 },
  { word: "triggers", before: /hooks\.slack(?:-gov)?\.com\\?\/$/i, segments: 3 },
  { word: "webhooks", before: /discord(?:app)?\.com\\?\/api\\?\/(?:v\d+\\?\/)?$/i, segments: 2 },
  { word: "webhookb2", before: /\.webhook\.office\.com\\?\/$/i, segments: 4 },
  { word: "webhook", before: /\.office\.com\\?\/$/i, segments: 4 },
  { word: "catch", before: /hooks\.zapier\.com\\?\/hooks\\?\/$/i, segments: 2 },
];

export const HOOK_WORDS: readonly string[] = HOOKS.map((hook) => hook.word);

/** The word `[start, end)` begins the secret path of a chat service's hook address. */
export function hookAt(source: Source, start: number, end: number): Hit | undefined {
  const word = source.text.slice(start, end).toLowerCase();
  const hook = HOOKS.find((each) => each.word === word && each.before.test(source.before(start, 40)));
  if (!hook) return undefined;
  let to = end;
  let secretStart = -1;
  for (let segment = 0; segment < hook.segments; segment++) {
    const from = source.at(to) === 92 ? to + 2 : to + 1;
    if (source.at(from - 1) !== 47) break;
    let next = from;
    while (next - from < 400 && (BASE64URL[source.at(next)] === 1 || source.at(next) === 64)) next++;
    if (next === from) break;
    const isLast = segment === hook.segments - 1;
    if (secretStart < 0 && next - from >= 16 && (isLast || looksRandom(source.text.slice(from, next))))
      secretStart = from;
    to = next;
  }
  if (secretStart < 0) return undefined;
  return { start: secretStart, end: to, kind: "webhook", secret: source.text.slice(secretStart, to) };
}
