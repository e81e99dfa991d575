/** Keys of git's configuration whose value git runs. Keys are case-insensitive (git 2.43, git-config(1)). */

const EXACT = new Set([
  "core.pager",
  "core.editor",
  "core.sshcommand",
  "core.fsmonitor",
  "core.hookspath",
  "core.askpass",
  "core.gitproxy",
  "core.alternaterefscommand",
  "sequence.editor",
  "diff.external",
  "interactive.difffilter",
  "credential.helper",
  "gpg.program",
  "gpg.ssh.program",
  "gpg.ssh.defaultkeycommand",
  "gpg.x509.program",
  "gpg.openpgp.program",
  "uploadpack.packobjectshook",
  "receive.procreceiverefs",
  "sendemail.smtpserver",
  "sendemail.sendmailcmd",
  "sendemail.tocmd",
  "sendemail.cccmd",
  "init.templatedir",
  "web.browser",
  "help.browser",
  "protocol.ext.allow",
  "ssh.variant",
]);
const SECTIONS = new Set([
  "pager",
  "filter",
  "browser",
  "man",
  "difftool",
  "mergetool",
  "guitool",
  "includeif",
  "include",
  "credential",
]);

export type KeyKind = "runs" | "ordinary";

export function configKeyKind(key: string, value: string | undefined): KeyKind {
  const lower = key.trim().toLowerCase();
  if (EXACT.has(lower))
    return lower === "core.fsmonitor" && /^(?:true|false|)$/i.test(value ?? "x")
      ? "ordinary"
      : isHarmlessProgram(lower, value)
        ? "ordinary"
        : "runs";
  const parts = lower.split(".");
  const section = parts[0] ?? "";
  const last = parts.at(-1) ?? "";
  if (section === "alias")
    return value === undefined || value.trimStart().startsWith("!") || /[\uE000-\uE005]/.test(value)
      ? "runs"
      : "ordinary";
  if (section === "diff") return last === "command" || last === "textconv" ? "runs" : "ordinary";
  if (section === "merge") return last === "driver" ? "runs" : "ordinary";
  if (section === "remote")
    return last === "uploadpack" || last === "receivepack" || last === "vcs" ? "runs" : "ordinary";
  if (section === "submodule") return last === "update" && (value ?? "!").startsWith("!") ? "runs" : "ordinary";
  if (section === "tar") return last === "command" ? "runs" : "ordinary";
  if (section === "trailer") return last === "command" || last === "cmd" ? "runs" : "ordinary";
  if (section === "url") return "ordinary";
  if (section === "pager") return /^(?:true|false|cat|)$/i.test(value ?? "x") ? "ordinary" : "runs";
  if (SECTIONS.has(section)) return "runs";
  return "ordinary";
}

/** `core.pager=cat` and `core.editor=true` start nothing. */
function isHarmlessProgram(key: string, value: string | undefined): boolean {
  if (key !== "core.pager" && key !== "core.editor" && key !== "sequence.editor" && key !== "core.askpass")
    return false;
  return value !== undefined && /^(?:cat|true|:|)$/.test(value);
}

/** Keys that change how output looks, for `git -c`. */
const LOOKS =
  /^(?:color\.|column\.|core\.(?:quotepath|abbrev|pager|editor|autocrlf|safecrlf|ignorecase|precomposeunicode|fsmonitor|longpaths|commentchar|whitespace)$|log\.|diff\.(?:noprefix|mnemonicprefix|renames|renamelimit|algorithm|context|colormoved|wserrorhighlight|submodule|statgraphwidth)$|status\.|advice\.|user\.(?:name|email)$|commit\.(?:gpgsign|verbose|status|cleanup)$|tag\.gpgsign$|init\.defaultbranch$|merge\.(?:conflictstyle|renames|ff|log)$|pull\.|rebase\.|gc\.auto$|blame\.|grep\.|pretty\.|format\.pretty$|i18n\.|safe\.directory$|sequence\.editor$|pager\.)/;

export function isHarmlessKey(key: string): boolean {
  return LOOKS.test(key.trim().toLowerCase());
}
