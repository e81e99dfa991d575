/** The lines of docs/go-no-go.md as data, and the table of their last runs. Pure. */
import { rowsOf, sectionOf } from "../page/section.ts";

export interface GoLine {
  number: number;
  claim: string;
  command: string;
}

export interface LineRun {
  number: number;
  ok: boolean;
  seconds: number;
  commit: string;
  /** ISO date. */
  date: string;
}

export const LINES = "Line by line";
export const RUNS = "Last runs";

/** Throws when a row is not `| number | claim | one command |`. */
export function goLines(page: string): GoLine[] {
  return rowsOf(sectionOf(page, LINES))
    .slice(1)
    .map((cells) => {
      const [number = "", claim = "", code = ""] = cells;
      const command = /^`([^`]+)`$/.exec(code)?.[1];
      if (cells.length !== 3 || !/^\d+$/.test(number) || command === undefined)
        throw new Error(`Not a line with a number, a claim and one command: ${cells.join(" | ")}`);
      return { number: Number(number), claim, command };
    });
}

/** The runs that stand in a page. */
export function lastRuns(page: string): LineRun[] {
  return rowsOf(sectionOf(page, RUNS)).flatMap(([number = "", , result = "", took = "", commit = "", date = ""]) =>
    /^\d+$/.test(number) && result !== "not run"
      ? [
          {
            number: Number(number),
            ok: result === "passed",
            seconds: Number.parseFloat(took),
            commit: commit.replaceAll("`", ""),
            date,
          },
        ]
      : [],
  );
}

/** The table of the newest run of each line; a line that was never run says so. */
export function runsTable(lines: readonly GoLine[], runs: readonly LineRun[]): string {
  const rows = lines.map(({ number, command }) => {
    const run = runs.findLast((one) => one.number === number);
    const cells = run
      ? [run.ok ? "passed" : "**failed**", `${run.seconds.toFixed(0)} s`, `\`${run.commit}\``, run.date]
      : ["not run", "", "", ""];
    return `| ${[number, `\`${command}\``, ...cells].join(" | ")} |`;
  });
  return `Written by \`npm run go-no-go -- --write\`, which runs the commands above one after the other; \`--only=4,9-12\` takes some of them, and the others keep their last run. Seconds are of a machine that did other work at the same time.

| # | Command | Result | Took | Commit | Date |
|---|---|---|---|---|---|
${rows.join("\n")}
`;
}

/** `4,9-12` as numbers; every line without a text. */
export function picks(text: string | undefined): (line: GoLine) => boolean {
  if (text === undefined) return () => true;
  const ranges = text.split(",").map((part) => part.split("-").map(Number));
  return ({ number }) => ranges.some(([from = Number.NaN, to = from]) => number >= from && number <= to);
}
