/** What the judges of file programs share: sources, targets, and the names a copy gets in a folder. */
import type { Invocation } from "../invocation.ts";
import { type FlagTable, flagValue, type Scan, scan } from "../options.ts";
import { judgePath, placesOf } from "../paths/access.ts";
import type { Access } from "../paths/places.ts";
import { basename } from "../paths/text.ts";
import type { Arg } from "../shell/words.ts";
import { judgeFlags } from "./reader.ts";
import { sweepPaths } from "./sweep.ts";

export function touchPaths(
  call: Invocation,
  args: readonly Arg[],
  access: Access,
  sweeping = false,
  keepLast = false,
): void {
  for (const arg of args)
    judgePath(call.gate, call.state.folders, { value: arg.value, glob: arg.glob, access, sweeping, keepLast });
}

export function simple(call: Invocation, table: FlagTable): Scan {
  const found = scan(call.args, table);
  judgeFlags(call, found, false);
  if (found.unknown.length > 0) sweepPaths(call, call.args);
  return found;
}

export function parties(found: Scan, ...targetFlags: string[]): { sources: Arg[]; target: Arg | undefined } {
  const flagged = flagValue(found, ...targetFlags);
  if (flagged !== undefined) return { sources: found.operands, target: flagged };
  return {
    sources: found.operands.slice(0, -1),
    target: found.operands.length > 1 ? found.operands.at(-1) : undefined,
  };
}

/** The target itself, and the names the sources would get in it when it is a folder. */
export function into(
  call: Invocation,
  sources: readonly Arg[],
  target: Arg | undefined,
  access: Access,
  overwrites: boolean,
): void {
  if (target === undefined) return;
  const { gate, state } = call;
  touchPaths(call, [target], access);
  const seen = new Set<string>();
  for (const source of sources.slice(0, 32)) {
    const name = basename(source.value);
    if (name === "" || name === "." || name === ".." || seen.has(name)) continue;
    seen.add(name);
    judgePath(gate, state.folders, {
      value: `${target.value.replace(/\/+$/, "")}/${name}`,
      glob: target.glob || source.glob,
      access,
    });
  }
  if (overwrites && !target.glob) overwritten(call, target);
}

/** An existing file with edits that git cannot bring back would be overwritten. */
export function overwritten(call: Invocation, target: Arg): void {
  const { gate, state } = call;
  if (gate.report.isDenyOnly || /[\uE000-\uE005]/.test(target.value)) return;
  const places = placesOf(gate, state.folders, target.value, false);
  if (places.size === 1 && places.has("workspace")) {
    judgePath(gate, state.folders, { value: target.value, glob: false, access: "redirect" });
  }
}
