/** Names the place of one normalised absolute path. Pure text; links were followed before. */
import type { PolicyContext } from "../../core/contracts/policy.ts";
import { couldMatch } from "./glob.ts";
import { ABSOLUTE_PLACES, HARMLESS_ENV_SUFFIXES, HOME_PLACES, type Place, WORKSPACE_PLACES } from "./places.ts";
import { isInside } from "./text.ts";

interface Pattern {
  components: readonly string[];
  folder: boolean;
  place: Place;
}

const HOME = HOME_PLACES.map(toPattern);
const WORKSPACE = WORKSPACE_PLACES.map(toPattern);
const ABSOLUTE = ABSOLUTE_PLACES.map(toPattern);
const PROTECTED_FIRST_LETTERS = ".";

/** Every place that a pattern with `*`, `?` and `[` could mean; one for a plain path. */
export function classifyAll(path: string, context: PolicyContext, glob: boolean): Place[] {
  const place = classify(path, context, glob);
  if (!glob || !isInside(path, context.workspace)) return [place];
  const places = new Set<Place>([place]);
  const parts = path.slice(context.workspace.length + 1).split("/");
  for (const [start, part] of parts.entries()) {
    for (const pattern of WORKSPACE) if (matches(pattern, parts, start, true, false)) places.add(pattern.place);
    if (isEnvironmentFile(part, true)) places.add("secrets");
  }
  return [...places];
}

/** `glob`: the path may hold `*`, `?` and `[`; it is then the first place that it could match. */
export function classify(path: string, context: PolicyContext, glob: boolean): Place {
  if (isInside(path, context.stateDir)) return "supervisor";
  for (const folder of context.protectedDirs ?? []) if (isInside(path, folder)) return "supervisor";
  if (isInside(path, context.workspace) && !isInside(context.home, context.workspace)) {
    return classifyInWorkspace(path, context.workspace, glob);
  }
  const parts = path.split("/");
  parts.shift();
  if (parts[0] === "private" && parts.length > 1) parts.shift(); // macOS keeps /etc, /var and /tmp in /private
  const home = homeDepth(path, parts, context.home, glob);
  if (home > 0) {
    const found = firstMatch(HOME, parts, home, glob, true);
    if (found !== undefined) return found;
  }
  if (isInside(path, context.workspace)) return classifyInWorkspace(path, context.workspace, glob);
  if (context.tmpDir !== undefined && isInside(path, context.tmpDir)) return "temporary";
  if (isEnviron(parts, glob)) return "credentials";
  return firstMatch(ABSOLUTE, parts, 0, glob, true) ?? "outside";
}

function classifyInWorkspace(path: string, workspace: string, glob: boolean): Place {
  if (path.length === workspace.length) return "root";
  const rest = path.slice(workspace.length + 1);
  if (!mayBeSpecial(rest, glob)) return "workspace";
  const parts = rest.split("/");
  let spelling: Place | undefined;
  for (let start = 0; start < parts.length; start += 1) {
    const part = parts[start] ?? "";
    if (!part.startsWith(PROTECTED_FIRST_LETTERS) && !glob) continue;
    const found = firstMatch(WORKSPACE, parts, start, glob, false);
    if (found !== undefined) return found === "git" && start === parts.length - 1 ? "git-folder" : found;
    const lower = parts.slice(start).map((piece) => piece.toLowerCase());
    const relaxed = firstMatch(WORKSPACE, lower, start === 0 ? 0 : 0, glob, false);
    if (relaxed === "protected" || relaxed === "git") spelling = "protected-spelling";
    if (isEnvironmentFile(part, glob)) return "secrets";
  }
  if (spelling !== undefined) return spelling;
  return (parts.at(-1) ?? "").startsWith("-") ? "option" : "workspace";
}

/** Most paths of a workspace hold no component that begins with a dot or a dash. */
function mayBeSpecial(rest: string, glob: boolean): boolean {
  const first = rest.charCodeAt(0);
  return first === 46 || first === 45 || glob || rest.includes("/.") || rest.includes("/-");
}

function isEnvironmentFile(name: string, glob: boolean): boolean {
  const lower = name.toLowerCase();
  if (lower === ".env") return true;
  if (lower.startsWith(".env.")) return !HARMLESS_ENV_SUFFIXES.includes(lower.slice(lower.lastIndexOf(".") + 1));
  return glob && lower.startsWith(".") && (couldMatch(lower, ".env") || couldMatch(lower, ".env.local"));
}

function isEnviron(parts: readonly string[], glob: boolean): boolean {
  if (parts[0] !== "proc" && !(glob && couldMatch(parts[0] ?? "", "proc"))) return false;
  return parts.slice(1).some((part) => part === "environ" || (glob && part !== "*" && couldMatch(part, "environ")));
}

/** How many leading components name some account's home folder; 0 when the path stands in none. */
function homeDepth(path: string, parts: readonly string[], home: string, glob: boolean): number {
  if (isInside(path, home)) return home === "/" ? 0 : home.split("/").length - 1;
  const first = parts[0] ?? "";
  if (first === "root" || (glob && couldMatch(first, "root") && first !== "*")) return 1;
  const isHomes =
    first === "home" || first === "Users" || (glob && (couldMatch(first, "home") || couldMatch(first, "Users")));
  if (isHomes && parts.length > 2) return 2;
  if (first === "var" && parts[1] === "lib" && parts.length > 3) return 3; // service accounts
  return 0;
}

function firstMatch(
  patterns: readonly Pattern[],
  parts: readonly string[],
  start: number,
  glob: boolean,
  atTop: boolean,
): Place | undefined {
  for (const pattern of patterns) if (matches(pattern, parts, start, glob, atTop)) return pattern.place;
  return undefined;
}

function matches(pattern: Pattern, parts: readonly string[], start: number, glob: boolean, atTop: boolean): boolean {
  const wanted = pattern.components;
  const left = parts.length - start;
  if (left < wanted.length) return false;
  // A file's name ends the path; below a file there is nothing, but a longer path can do no harm at the top either.
  if (!pattern.folder && left > wanted.length && !atTop) return false;
  for (let index = 0; index < wanted.length; index += 1) {
    const part = parts[start + index] ?? "";
    const name = wanted[index] ?? "";
    if (part === name) continue;
    // `ls /etc/*` names no file in particular; `/etc/sha*` does.
    if (part === "*" && !pattern.folder && start + index === parts.length - 1) return false;
    if (!glob || !couldMatch(part, name)) return false;
  }
  return true;
}

function toPattern([text, place]: readonly [string, Place]): Pattern {
  const folder = text.endsWith("/");
  const components = text.split("/").filter((part) => part !== "");
  return { components, folder, place };
}
