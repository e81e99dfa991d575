/** Git's verbs that speak with other machines: reading is asked, pushing is a person's, forcing is denied. */
import { describe } from "../invocation.ts";
import { hasMark, readable } from "../shell/marks.ts";
import type { GitCall } from "./git.ts";

const VALUE_OPTIONS = new Set([
  "-o",
  "--push-option",
  "--repo",
  "--receive-pack",
  "--exec",
  "--recurse-submodules",
  "--signed",
]);

export function judgePush(git: GitCall): void {
  const { report } = git.gate;
  const subject = readable(describe(git));
  report.person("git.push", "It sends commits where others see them.", subject);
  let value = false;
  for (const arg of git.rest) {
    const text = arg.value;
    if (value) {
      value = false;
      continue;
    }
    if (VALUE_OPTIONS.has(text)) value = true;
    const forced =
      text === "--force" ||
      text.startsWith("--force=") ||
      text === "--mirror" ||
      /^--forc?$/.test(text) ||
      (/^-[a-zA-Z46]+$/.test(text) && text.includes("f") && !text.startsWith("-o")) ||
      (text.startsWith("+") && text.length > 1);
    if (forced) report.deny("git.push-force", "A forced push can destroy what others have.", subject);
    if (/^--(?:receive-pack|exec)/.test(text))
      report.person("git.push-program", "It names a program for the other side.", subject);
  }
}

type Judge = (git: GitCall) => void;

const reading: Judge = (git) => {
  const { gate } = git;
  const subject = readable(describe(git));
  const starts = git.rest.some(
    (arg) =>
      /^(?:--upload-pack|--exec|-u$|--config|-c$|--template|--recurse-submodules|--server-option)/.test(arg.value) ||
      /^[a-z]+::/.test(arg.value) ||
      hasMark(arg.value),
  );
  if (gate.context.profile === "open" && !starts && (git.verb === "fetch" || git.verb === "ls-remote")) {
    gate.report.allow("git.fetch", "The open profile may read from the network.");
    return;
  }
  gate.report.review(`git.${git.verb}`, "It speaks with another machine or writes what comes from there.", subject);
};

const sending: Judge = (git) => {
  git.gate.report.person("git.sends", "It sends something to others.", readable(describe(git)));
};

export const NETWORK_VERBS: Readonly<Record<string, Judge>> = {
  fetch: reading,
  pull: reading,
  clone: reading,
  "ls-remote": reading,
  "fetch-pack": reading,
  "remote-http": reading,
  "remote-https": reading,
  "remote-ext": reading,
  "send-email": sending,
  "imap-send": sending,
  "request-pull": sending,
  svn: reading,
  p4: reading,
};
