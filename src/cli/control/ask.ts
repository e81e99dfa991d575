import { writeSync } from "node:fs";

/** Asks on standard error and reads one line of standard input; an empty text when the input ends. */
export function askOnTerminal(question: string): Promise<string> {
  writeSync(2, question);
  return new Promise((resolve) => {
    let line = "";
    const done = (): void => {
      process.stdin.off("data", onData).off("end", done);
      process.stdin.pause();
      resolve(line.split(/[\r\n]/)[0] ?? "");
    };
    const onData = (chunk: Buffer): void => {
      line += chunk.toString("utf8");
      if (/[\r\n]/.test(line) || line.length > 1000) done();
    };
    process.stdin.on("data", onData).on("end", done);
  });
}
