/** Judges one path for one access: normalise, follow links, name the place, look up the table, then the deletion floor. */
import type { Verdict } from "../../core/contracts/policy.ts";
import type { Gate } from "../gate.ts";
import { hasMark, readable } from "../shell/marks.ts";
import { rank } from "../verdicts.ts";
import { classify, classifyAll } from "./classify.ts";
import { type Access, PLACES, type Place, SYSTEM_FOLDERS } from "./places.ts";
import { isInside, join, normalise, parent } from "./text.ts";

export interface PathUse {
  /** As written, after quotes and known expansions; may hold marks. */
  value: string;
  /** Holds unquoted wildcards. */
  glob: boolean;
  access: Access;
  /** Only for `remove` and `change`: recursive or forced. */
  sweeping?: boolean;
  /** Links are not followed at the last component (`rm`, `mv` sources, `ln` names). */
  keepLast?: boolean;
}

/** Judges the path against each folder that the shell may stand in. */
export function judgePath(gate: Gate, folders: readonly string[], use: PathUse): Place {
  let place: Place = "workspace";
  if (folders.length === 0) return judgeAt(gate, undefined, use);
  for (const folder of folders) {
    const found = judgeAt(gate, folder, use);
    if (place === "workspace") place = found;
  }
  return place;
}

/** The place of a path, without judging it. The worst one over folders and over name and target of a link. */
export function placesOf(gate: Gate, folders: readonly string[], value: string, glob: boolean): Set<Place> {
  const places = new Set<Place>();
  for (const folder of value.startsWith("/") ? ["/"] : folders) {
    for (const path of candidates(gate, join(folder, value), glob, false)) {
      places.add(path === undefined ? "loop" : classify(path, gate.context, glob));
    }
  }
  return places;
}

function judgeAt(gate: Gate, folder: string | undefined, use: PathUse): Place {
  const { report } = gate;
  const subject = readable(use.value);
  if (folder === undefined && !use.value.startsWith("/")) {
    report.review("path.unknown-folder", "The shell's folder at this point is not known.", subject, floorOf(use));
    return "outside";
  }
  const open = hasMark(use.value);
  if (open) {
    report.review("path.dynamic", "An expansion decides this path.", subject, floorOf(use));
  }
  const full = join(folder ?? "/", use.value);
  if (use.sweeping === true) judgeSweep(gate, full, use, subject);
  let first: Place | undefined;
  for (const path of candidates(gate, full, use.glob || open, use.keepLast ?? false)) {
    const place = path === undefined ? "loop" : classify(path, gate.context, use.glob);
    if (use.glob && path !== undefined) {
      for (const other of classifyAll(path, gate.context, true)) if (other !== place) apply(gate, other, use, subject);
    }
    first ??= place;
    const verdict = apply(gate, place, use, subject);
    gate.trace?.path({
      written: subject,
      real: path === undefined ? undefined : readable(path),
      place,
      access: use.access,
      verdict,
    });
    if (path !== undefined && verdict === "allow" && !open && isLosing(use.access))
      floor(gate, path, place, use, subject);
  }
  return first ?? "outside";
}

function apply(gate: Gate, place: Place, use: PathUse, subject: string): Verdict {
  const rule = PLACES[place];
  const verdict = rule[use.access];
  if (verdict === "allow") return verdict;
  const outside = place === "outside" || place === "system" || place === "loop";
  const loss = use.access === "read" ? "recoverable" : use.access === "remove" && outside ? "lost" : lossOf(place);
  gate.report.add(verdict, `path.${place}.${use.access}`, rule.reason, subject, {
    loss,
    floor: use.access === "remove" || use.access === "redirect",
  });
  return verdict;
}

function lossOf(place: Place): "lost" | "recoverable" {
  const rule: { loss?: "lost" | "recoverable" } = PLACES[place];
  return rule.loss ?? "recoverable";
}

/**
 * The paths that one spelling may mean: the name itself, its target, its other hard-linked names, and for `x/..` both
 * the shell's reading and the kernel's. `undefined` stands for one that cannot be followed.
 */
function* candidates(gate: Gate, full: string, pattern: boolean, keepLast: boolean): Generator<string | undefined> {
  const lexical = normalise(full);
  yield lexical;
  if (pattern) {
    const fixed = fixedPrefix(lexical);
    const real = gate.facts.realPath(fixed);
    if (real === undefined) yield undefined;
    else if (real !== fixed) yield real + lexical.slice(fixed === "/" ? 0 : fixed.length);
    return;
  }
  const real = keepLast ? realParent(gate, lexical) : gate.facts.realPath(lexical);
  if (real === undefined) {
    yield undefined;
    return;
  }
  if (real !== lexical) yield real;
  if (full.includes("/..")) {
    const physical = followDots(gate, full);
    if (physical !== real && physical !== lexical) yield physical;
  }
  for (const other of gate.facts.hardLinks(real) ?? []) if (other !== real) yield other;
}

function realParent(gate: Gate, path: string): string | undefined {
  if (path === "/") return path;
  const folder = parent(path);
  const real = gate.facts.realPath(folder);
  if (real === undefined) return undefined;
  return real === "/" ? path.slice(path.lastIndexOf("/")) : real + path.slice(path.lastIndexOf("/"));
}

/** The part before the first component with a wildcard or a mark. */
function fixedPrefix(path: string): string {
  const open = path.search(/[*?[\uE000-\uE005]/);
  if (open < 0) return path;
  const cut = path.lastIndexOf("/", open);
  return cut <= 0 ? "/" : path.slice(0, cut);
}

/** `..` as the kernel takes it: the parent of the folder that a link led to. */
function followDots(gate: Gate, full: string): string | undefined {
  let at = "/";
  for (const part of full.split("/")) {
    if (part === "" || part === ".") continue;
    if (part === "..") {
      const real = gate.facts.realPath(at);
      if (real === undefined) return undefined;
      at = parent(real);
    } else at = at === "/" ? `/${part}` : `${at}/${part}`;
  }
  return gate.facts.realPath(at);
}

function isLosing(access: Access): boolean {
  return access === "remove" || access === "redirect";
}

function floorOf(use: PathUse): { floor: boolean; loss: "lost" | "recoverable" } {
  return { floor: isLosing(use.access), loss: use.access === "remove" ? "lost" : "recoverable" };
}

/** The deletion floor: an ordinary file of the workspace may go when git can bring it back. */
function floor(gate: Gate, path: string, place: Place, use: PathUse, subject: string): void {
  if (place !== "workspace" && place !== "obeyed" && place !== "option") return;
  if (use.glob) {
    gate.report.review("floor.dynamic", "A pattern decides what is removed or overwritten.", subject, {
      loss: "lost",
      floor: true,
    });
    return;
  }
  const state = gate.facts.gitState(path);
  switch (state) {
    case "tracked":
    case "ignored":
    case "absent":
      return;
    case "modified":
      gate.report.review(
        "floor.modified",
        "It has edits that are not committed; git cannot bring them back.",
        subject,
        { loss: "lost" },
      );
      return;
    case "untracked":
      if (gate.facts.createdByTask?.(path) === true) return;
      gate.report.review("floor.untracked", "Git does not know this file and cannot bring it back.", subject, {
        loss: "lost",
      });
      return;
    case undefined:
      gate.report.review("floor.unknown", "It is not known whether git could bring this back.", subject, {
        loss: "lost",
      });
  }
}

/** Recursive or forced removal, or mode change, of what must never go. */
function judgeSweep(gate: Gate, full: string, use: PathUse, subject: string): void {
  const { context, report } = gate;
  for (const path of candidates(gate, full, use.glob || hasMark(full), false)) {
    if (path === undefined) continue;
    const target = path.startsWith("/private/") ? path.slice(8) : path;
    const whole = use.glob ? withoutGlobTail(target) : target;
    if (SYSTEM_FOLDERS.has(whole)) report.deny("floor.system", "It would sweep a system folder.", subject);
    else if (isHome(whole, context.home)) report.deny("floor.home", "It would sweep a home folder.", subject);
    else if (target === context.workspace)
      report.deny("floor.workspace", "It would sweep the workspace itself.", subject);
    else if (isInside(context.workspace, whole) && whole !== context.workspace) {
      report.deny("floor.parent", "It would sweep a folder that holds the workspace.", subject);
    }
  }
}

/** `/home/user/*`, `~/.*` and `/home/user/{*,.*}` mean all of the folder. */
function withoutGlobTail(path: string): string {
  const cut = path.lastIndexOf("/");
  const last = path.slice(cut + 1);
  return /^(?:\.?\*+|\*\.\*|\.\[.*\]\*|\?\*)$/.test(last) ? (cut <= 0 ? "/" : path.slice(0, cut)) : path;
}

function isHome(path: string, home: string): boolean {
  if (path === home) return true;
  const parts = path.split("/");
  return parts.length === 3 && (parts[1] === "home" || parts[1] === "Users");
}

/** The worse of two places by what `access` costs there. */
export function worsePlace(a: Place, b: Place, access: Access): Place {
  return rank(PLACES[b][access]) > rank(PLACES[a][access]) ? b : a;
}
