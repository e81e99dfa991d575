/**
 * Reads a program's options against the list of those known to be harmless. The list is one string, easy to read and
 * to extend:
 *
 *     -abc          switches                     --all           switch
 *     -n=           takes a value                --max=          takes a value, attached or as the next word
 *     -U=?          may have an attached value   --color=?       may have a value after `=`
 *     -f=<          takes a path it reads        --file=<        the same
 *     -o=>          takes a path it writes       --output=>      the same
 *     -o=>!         known, but always asked about: its path is judged besides
 *     -#            digits, as in `head -40`     +               words that begin with a plus sign
 *
 * Whatever the list does not hold is unknown, including GNU abbreviations such as `--outp`.
 */
import { hasMark, isOpen } from "./shell/marks.ts";
import type { Arg } from "./shell/words.ts";

export type Role = "data" | "read" | "write";

interface Flag {
  value: "none" | "required" | "optional";
  role: Role;
  asks: boolean;
}

export interface FlagTable {
  flags: ReadonlyMap<string, Flag>;
  digits: boolean;
  plus: boolean;
}

export interface FoundFlag {
  /** With its dashes: `-n` or `--max`. */
  name: string;
  value: Arg | undefined;
  role: Role;
}

export interface Scan {
  flags: FoundFlag[];
  operands: Arg[];
  /** Words that look like options and are not in the table. */
  unknown: Arg[];
  /** Words that an expansion or a wildcard could turn into an option. */
  unclear: Arg[];
  /** Where the operands begin when `permute` is off. */
  rest: number;
}

export function flagTable(spec: string): FlagTable {
  const flags = new Map<string, Flag>();
  let digits = false;
  let plus = false;
  for (const token of spec.split(" ")) {
    if (token === "") continue;
    if (token === "-#") {
      digits = true;
      continue;
    }
    if (token === "+") {
      plus = true;
      continue;
    }
    const equals = token.indexOf("=");
    const name = equals < 0 ? token : token.slice(0, equals);
    const suffix = equals < 0 ? undefined : token.slice(equals + 1);
    const flag: Flag = {
      value: suffix === undefined ? "none" : suffix.startsWith("?") ? "optional" : "required",
      role: roleOf(suffix),
      asks: suffix?.endsWith("!") === true,
    };
    if (name.startsWith("--") || suffix !== undefined) flags.set(name, flag);
    else for (const letter of name.slice(1)) flags.set(`-${letter}`, flag);
  }
  return { flags, digits, plus };
}

function roleOf(suffix: string | undefined): Role {
  if (suffix?.includes("<") === true) return "read";
  if (suffix?.includes(">") === true) return "write";
  return "data";
}

/** `permute`: options may follow operands, as GNU programs read them; otherwise the first operand ends them. */
export function scan(args: readonly Arg[], table: FlagTable, permute = true): Scan {
  const found: Scan = { flags: [], operands: [], unknown: [], unclear: [], rest: args.length };
  for (let index = 0; index < args.length; index += 1) {
    const arg = args[index] as Arg;
    const text = arg.value;
    const first = text.charCodeAt(0);
    if (first !== 45 || text.length === 1) {
      if (first === 43 && text.length > 1 && !table.plus) found.unknown.push(arg);
      else if (mayBecomeOption(arg)) found.unclear.push(arg);
      if (!permute) {
        found.rest = index;
        for (const rest of args.slice(index)) found.operands.push(rest);
        return found;
      }
      found.operands.push(arg);
      continue;
    }
    if (text === "--") {
      found.rest = index + 1;
      for (const rest of args.slice(index + 1)) found.operands.push(rest);
      return found;
    }
    index +=
      text.charCodeAt(1) === 45 ? long(arg, args[index + 1], table, found) : short(arg, args[index + 1], table, found);
  }
  return found;
}

function mayBecomeOption(arg: Arg): boolean {
  const first = arg.value.charAt(0);
  return isOpen(first) || (arg.glob && (first === "*" || first === "?" || first === "["));
}

/** Returns how many further words the option took. */
function long(arg: Arg, next: Arg | undefined, table: FlagTable, found: Scan): number {
  const equals = arg.value.indexOf("=");
  const name = equals < 0 ? arg.value : arg.value.slice(0, equals);
  const flag = table.flags.get(name);
  if (flag === undefined || hasMark(name)) {
    found.unknown.push(arg);
    return 0;
  }
  if (equals >= 0) {
    if (flag.value === "none") found.unknown.push(arg);
    else note(found, name, piece(arg, equals + 1), flag, arg);
    return 0;
  }
  if (flag.value !== "required") {
    note(found, name, undefined, flag, arg);
    return 0;
  }
  note(found, name, next, flag, arg);
  return 1;
}

function short(arg: Arg, next: Arg | undefined, table: FlagTable, found: Scan): number {
  const text = arg.value;
  // Programs such as find, go and java spell long options with one dash.
  const equals = text.indexOf("=");
  const whole = table.flags.get(equals < 0 ? text : text.slice(0, equals));
  if (whole !== undefined && text.length > 2 && (equals < 0 || equals > 2)) {
    if (equals > 0) note(found, text.slice(0, equals), piece(arg, equals + 1), whole, arg);
    else {
      note(found, text, whole.value === "required" ? next : undefined, whole, arg);
      return whole.value === "required" ? 1 : 0;
    }
    return 0;
  }
  if (table.digits && /^-\d+$/.test(text)) {
    found.flags.push({ name: "-#", value: undefined, role: "data" });
    return 0;
  }
  for (let at = 1; at < text.length; at += 1) {
    const name = `-${text.charAt(at)}`;
    const flag = table.flags.get(name);
    if (flag === undefined) {
      if (table.digits && /\d/.test(text.charAt(at))) continue;
      found.unknown.push(arg);
      return 0;
    }
    if (flag.value === "none") {
      note(found, name, undefined, flag, arg);
      continue;
    }
    if (at + 1 < text.length) {
      note(found, name, piece(arg, at + 1), flag, arg);
      return 0;
    }
    if (flag.value === "optional") {
      note(found, name, undefined, flag, arg);
      return 0;
    }
    note(found, name, next, flag, arg);
    return 1;
  }
  return 0;
}

function piece(arg: Arg, from: number): Arg {
  return { value: arg.value.slice(from), raw: arg.raw, glob: arg.glob, plain: false };
}

function note(found: Scan, name: string, value: Arg | undefined, flag: Flag, arg: Arg): void {
  found.flags.push({ name, value, role: flag.role });
  if (flag.asks) found.unknown.push(arg);
}

export function has(found: Scan, ...names: string[]): boolean {
  return found.flags.some((flag) => names.includes(flag.name));
}

export function flagValue(found: Scan, ...names: string[]): Arg | undefined {
  return found.flags.findLast((flag) => names.includes(flag.name))?.value;
}
