/** `git config`: single settings are shown freely, changes are asked, values that git runs are denied. */
import { runText } from "../programs/shells.ts";
import { sweepPaths } from "../programs/sweep.ts";
import { ask, fine, subjectOf } from "./common.ts";
import { configKeyKind } from "./config.ts";
import type { GitCall } from "./git.ts";

export const CONFIG_READS = new Set([
  "--get",
  "--get-all",
  "--get-regexp",
  "--list",
  "-l",
  "--get-urlmatch",
  "get",
  "list",
]);

export const CONFIG_SCOPES = new Set([
  "--local",
  "--worktree",
  "--show-origin",
  "--show-scope",
  "--name-only",
  "-z",
  "--null",
  "--includes",
  "--bool",
  "--int",
  "--path",
  "--type",
  "--default",
]);

export function config(git: GitCall): undefined {
  const { report } = git.gate;
  const words = git.rest.map((arg) => arg.value);
  const reads = words.some((word) => CONFIG_READS.has(word));
  const plain = words.filter(
    (word) => !word.startsWith("-") && !["get", "set", "list", "unset", "edit"].includes(word),
  );
  if (
    reads ||
    (plain.length === 1 &&
      words.every((word) => !word.startsWith("-") || CONFIG_SCOPES.has(word)) &&
      !["set", "unset", "edit"].includes(words[0] ?? ""))
  ) {
    const odd = words.filter(
      (word) =>
        word.startsWith("-") &&
        !CONFIG_READS.has(word) &&
        !CONFIG_SCOPES.has(word) &&
        !word.startsWith("--type=") &&
        !word.startsWith("--default="),
    );
    if (odd.length > 0)
      report.review("git.config", "It reads a file or scope beyond the repository's own.", subjectOf(git));
    sweepPaths(git, git.rest);
    if (
      plain.length !== 1 ||
      words.includes("--get-regexp") ||
      /cred|token|pass|secret|header|askpass|^url\./i.test(plain[0] ?? "")
    ) {
      report.review("git.config", "All settings together may hold a credential.", subjectOf(git));
    }
    return fine(git, "It shows settings.");
  }
  const [key, value] = plain;
  for (const [index, word] of plain.entries()) {
    if (configKeyKind(word, plain[index + 1]) === "runs" && /\./.test(word))
      report.deny("git.config-runs", "Git would run the value of this setting.", subjectOf(git));
  }
  if (key !== undefined && value?.startsWith("!")) runText(git, value.slice(1), "git alias", true);
  sweepPaths(git, git.rest);
  return ask(git, "It changes git's settings.");
}
