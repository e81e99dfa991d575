/** How often somebody has to be asked: routine is the policy's to answer. */

/** Calls that were asked about, of a hundred, to one decimal; null where there was no call. */
export function asksPer100Calls(
  verdicts: Readonly<Record<"allow" | "review" | "person" | "deny", number>>,
): number | null {
  const { allow, review, person, deny } = verdicts;
  const all = allow + review + person + deny;
  return all === 0 ? null : Math.round(((review + person) / all) * 1_000) / 10;
}
