/** What a process is, for people: its arguments, or its name in brackets when it shows none. */
import { readPs } from "./darwin.ts";
import { readProcFile } from "./proc-file.ts";

const MAX = 200;

/** At most 200 characters, control characters made visible; empty when the process is gone. Not redacted. */
export function commandOf(pid: number): string {
  if (process.platform === "darwin") return printable(readPs(pid)?.[0]?.command ?? "");
  const args = readProcFile(`/proc/${pid}/cmdline`);
  if (args.state === "read" && args.bytes.length > 0) {
    return printable(
      args.bytes
        .subarray(0, 4 * MAX)
        .toString("utf8")
        .replace(/\0+$/, "")
        .replaceAll("\0", " "),
    );
  }
  const name = readProcFile(`/proc/${pid}/comm`);
  return name.state === "read" ? `[${printable(name.bytes.toString("utf8").trimEnd())}]` : "";
}

function printable(text: string): string {
  const shown = text.replace(/[\p{Cc}\p{Cf}]/gu, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
  return shown.length > MAX ? `${shown.slice(0, MAX - 1)}…` : shown;
}
