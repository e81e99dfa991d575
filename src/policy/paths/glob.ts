/** Whether a shell pattern for one path component could match a name. Linear in pattern times name; no regular expression. */

export function couldMatch(pattern: string, name: string): boolean {
  // Bash does not let a wildcard match a leading dot unless `dotglob` is set, which the gate reviews.
  if (name.startsWith(".") && pattern.length > 0 && !startsWithLiteralDot(pattern)) return false;
  let p = 0;
  let n = 0;
  let star = -1;
  let resume = 0;
  while (n < name.length) {
    const step = p < pattern.length ? matchOne(pattern, p, name.charAt(n)) : -1;
    if (step === STAR) {
      star = p;
      resume = n;
      p += 1;
    } else if (step > 0) {
      p += step;
      n += 1;
    } else if (star >= 0) {
      p = star + 1;
      resume += 1;
      n = resume;
    } else return false;
  }
  while (p < pattern.length && pattern.charAt(p) === "*") p += 1;
  return p === pattern.length;
}

const STAR = -2;

/** How many pattern characters match `char` at `at`; `STAR` for `*`; -1 for none. */
function matchOne(pattern: string, at: number, char: string): number {
  const token = pattern.charAt(at);
  if (token === "*") return STAR;
  if (token === "?") return 1;
  if (token === "[") {
    const close = pattern.indexOf("]", at + 2);
    if (close > 0) return close - at + 1; // a bracket may match anything: could-match errs on the wide side
  }
  // Extended patterns such as @(a|b) are treated as `*` by the caller.
  return token === char ? 1 : -1;
}

function startsWithLiteralDot(pattern: string): boolean {
  return pattern.startsWith(".") || pattern.startsWith("[");
}
