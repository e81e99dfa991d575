/** Programs that are only asked for their version; anything else they do is not known to be harmless. */
import { describe, type Invocation, type ProgramTable } from "../invocation.ts";
import { readable } from "../shell/marks.ts";
import { program } from "./reader.ts";
import { sweepPaths } from "./sweep.ts";

const NAMES =
  "rustc gcc g++ cc c++ clang clang++ javac ld as gdbserver protoc ffmpeg convert magick pandoc latex pdflatex qemu wasmtime wasmer emcc";

export const VERSIONS: ProgramTable = Object.fromEntries(
  NAMES.split(" ").map((name) => [name, program("a compiler or converter", versionOnly)]),
);

function versionOnly(call: Invocation): undefined {
  if (call.args.length === 1 && /^(?:--version|-version|-V)$/.test(call.args[0]?.value ?? "")) {
    call.gate.report.allow("version", "It prints a version.");
    return undefined;
  }
  call.gate.report.review("program.unknown", "What this program would do is not known.", readable(describe(call)));
  sweepPaths(call, call.args);
  return undefined;
}
