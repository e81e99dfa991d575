/** What took part in a verification, for whoever repeats it. */
import { release, type } from "node:os";
import { git } from "./git.ts";

export async function versions(cwd: string): Promise<Record<string, string>> {
  const found: Record<string, string> = { node: process.version, os: `${type()} ${release()}` };
  const output = await git(["--version"], { cwd });
  if (output.ok) found.git = output.stdout.toString("utf8").trim().replace("git version ", "");
  return found;
}
