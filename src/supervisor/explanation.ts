/** A verdict's way as text, for `policy check`. */
import type { Explanation } from "../policy/index.ts";

export function explanationText({ decision, commands, paths, problems }: Explanation): string {
  const { verdict, rule, reason, loss, facts = [] } = decision;
  const lines = [`${verdict} by ${rule}${loss === undefined ? "" : ` (a wrong yes: ${loss})`}: ${reason}`];
  for (const fact of facts) lines.push(`  ${fact.verdict} ${fact.rule}: ${fact.subject} — ${fact.reason}`);
  if (commands.length > 0) lines.push("Commands:");
  for (const { argv, depth } of commands)
    lines.push(`  ${"  ".repeat(depth)}${argv.map((word) => JSON.stringify(word)).join(" ")}`);
  if (paths.length > 0) lines.push("Paths:");
  for (const path of paths)
    lines.push(`  ${path.access} ${path.written} → ${path.real ?? "unknown"} (${path.place}): ${path.verdict}`);
  if (problems.length > 0) lines.push("Not understood:", ...problems.map((problem) => `  ${problem}`));
  return lines.join("\n");
}
