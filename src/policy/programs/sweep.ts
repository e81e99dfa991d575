/**
 * Looks for credential stores and the supervisor's folder in the words of a program whose options are not known:
 * `x ~/.ssh/id_rsa`, `--file=~/.netrc`, `@/home/a/.aws/credentials`, `-v /home/a/.ssh:/k`.
 */
import type { Invocation } from "../invocation.ts";
import { placesOf } from "../paths/access.ts";
import { PLACES } from "../paths/places.ts";
import { readable } from "../shell/marks.ts";
import type { Arg } from "../shell/words.ts";

export function sweepPaths(call: Invocation, args: readonly Arg[]): void {
  for (const arg of args) sweepWord(call, arg);
}

export function sweepWord(call: Invocation, arg: Arg): void {
  const text = arg.value;
  if (text.length > 4_096) return;
  sweepPiece(call, text, arg.glob);
  for (let index = 0; index < text.length - 1; index += 1) {
    const char = text.charAt(index);
    if (char === "=" || char === "@" || char === ":" || char === ",") sweepPiece(call, text.slice(index + 1), arg.glob);
    else if (index === 1 && text.startsWith("-") && text.charAt(1) !== "-") sweepPiece(call, text.slice(2), arg.glob);
  }
}

function sweepPiece(call: Invocation, piece: string, glob: boolean): void {
  if (piece === "" || piece.startsWith("-")) return;
  const { gate, state } = call;
  const end = piece.search(/[:,]/);
  for (const value of end > 0 ? [piece, piece.slice(0, end)] : [piece]) {
    const path = value === "~" || value.startsWith("~/") ? gate.context.home + value.slice(1) : value;
    for (const place of placesOf(gate, state.folders, path, glob)) {
      if (PLACES[place].read === "deny") {
        gate.report.deny(`path.${place}.read`, PLACES[place].reason, readable(value));
        return;
      }
    }
  }
}
