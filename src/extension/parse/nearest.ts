/** The nearest right word for a wrong one. */

/** Longest word that is compared; longer ones are no typing mistake. */
const MAX_LENGTH = 40;

/**
 * The candidate that was probably meant, or undefined: one that begins with the word, else the one with the fewest
 * changed, swapped, added or lost characters, at most a third of the word's length (at least one).
 */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  const asked = word.toLowerCase();
  if (asked.length === 0 || asked.length > MAX_LENGTH) return undefined;
  const bare = asked.replace(/^-+/, "");
  if (bare.length >= 2) {
    const begun = candidates.filter((candidate) => candidate.replace(/^-+/, "").startsWith(bare));
    if (begun.length === 1) return begun[0];
  }
  const limit = Math.max(1, Math.floor(bare.length / 3));
  let best: { candidate: string; distance: number } | undefined;
  for (const candidate of candidates) {
    const distance = distanceOf(asked, candidate);
    if (distance <= limit && (best === undefined || distance < best.distance)) best = { candidate, distance };
  }
  return best?.candidate;
}

/** Optimal string alignment distance: edits plus swaps of neighbours. */
function distanceOf(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      let least = Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (last[j - 1] ?? 0) + same);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        least = Math.min(least, (beforeLast[j - 2] ?? 0) + 1);
      row.push(least);
    }
    beforeLast = last;
    last = row;
  }
  return last[b.length] ?? 0;
}
