/** System calls that fail for the paths or processes of one test, as a broken disk or a stuck process makes them fail. */
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import type { Lab } from "./support.ts";

type PathCall = "openSync" | "lstatSync" | "readdirSync";

/** The call throws `code` for every path that `concerns` names, until the returned function or the test's end. */
export function failingCall(
  where: Pick<Lab, "after">,
  call: PathCall,
  concerns: (path: string) => boolean,
  code: string,
): () => void {
  const real: (...args: never[]) => unknown = fs[call];
  const fake = (...args: never[]): unknown => {
    if (concerns(String(args[0]))) throw Object.assign(new Error(`${code}: ${call}`), { code });
    return Reflect.apply(real, fs, args);
  };
  const put = (value: unknown): void => {
    Object.assign(fs, { [call]: value });
    // Named imports of node:fs in the code under test follow (Node 20).
    syncBuiltinESMExports();
  };
  put(fake);
  const undo = (): void => put(real);
  where.after(undo);
  return undo;
}

/** What a kill of this process comes to: nothing (state D), or EPERM (another account's, or one that became it). */
export function unkillable(
  where: Pick<Lab, "after">,
  pids: ReadonlySet<number>,
  how: "ignored" | "denied",
): () => void {
  const real = process.kill;
  process.kill = (pid, name) => {
    const concerned = pids.has(Math.abs(pid)) && name !== 0;
    if (concerned && how === "denied") throw Object.assign(new Error("EPERM"), { code: "EPERM" });
    return concerned ? true : real.call(process, pid, name);
  };
  const undo = (): void => {
    process.kill = real;
  };
  where.after(undo);
  return undo;
}
