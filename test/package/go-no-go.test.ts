/** The checklist of docs/go-no-go.md: every line has one command, every command exists, and results are kept by line. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, test } from "node:test";
import { type GoLine, goLines, type LineRun, lastRuns, picks, RUNS, runsTable } from "../../scripts/go-no-go/lines.ts";
import { rowsOf, sectionOf, withSection } from "../../scripts/page/section.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const PAGE = readFileSync(join(ROOT, "docs", "go-no-go.md"), "utf8");
const { scripts } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { scripts: Record<string, string> };

/** Why a command cannot be run here; undefined when it can. */
function missing(command: string): string | undefined {
  const tests = /^npx tsx --test ((?:test\/[\w/.-]+\.ts ?)+)$/.exec(command)?.[1];
  if (tests !== undefined) return tests.split(" ").find((path) => !existsSync(join(ROOT, path)));
  if (command === "npm audit --audit-level=high" || command === "npm ci") return undefined;
  const [, name = "", flags] = /^npm (?:run )?([\w:-]+)(?: -- (.+))?$/.exec(command) ?? [];
  const script = scripts[name];
  if (script === undefined) return `npm run ${name}`;
  const source = /scripts\/[\w-]+\.ts/.exec(script)?.[0];
  const text = source === undefined ? "" : readFileSync(join(ROOT, source), "utf8");
  return flags?.split(" ").find((flag) => !text.includes(`"${flag}"`));
}

describe("the checklist", () => {
  const lines = goLines(PAGE);

  test("is numbered from one, and every command of it exists", () => {
    assert.ok(lines.length >= 20, "the test reads no lines");
    assert.deepEqual(
      lines.map(({ number }) => number),
      lines.map((_, index) => index + 1),
    );
    assert.deepEqual(
      lines.flatMap(({ number, command }) => missing(command)?.replace(/^/, `${number}: `) ?? []),
      [],
    );
  });

  for (const command of [
    "npm run no-such",
    "npx tsx --test test/no-such.test.ts",
    "npm run bench -- --no-such",
    "true",
  ])
    test(`would notice that "${command}" does not exist`, () => assert.notEqual(missing(command), undefined));

  test("has a line for each part of the command that runs everything at once", () => {
    const parts = (/^npm ci && .+$/m.exec(PAGE)?.[0] ?? "").split(" && ").slice(1);
    assert.ok(parts.length > 5);
    assert.deepEqual(
      parts.filter((part) => !lines.some(({ command }) => command === part)),
      [],
    );
  });

  test("names in its results the commands that it has now", () => {
    const shown = rowsOf(sectionOf(PAGE, RUNS)).filter(([number = ""]) => /^\d+$/.test(number));
    const commands = new Map(lines.map(({ number, command }) => [String(number), `\`${command}\``]));
    assert.deepEqual(
      shown.filter(([number = "", command]) => commands.get(number) !== command),
      [],
    );
  });
});

describe("the results", () => {
  const lines: GoLine[] = [1, 2, 3].map((number) => ({ number, claim: "c", command: `npm run c${number}` }));
  const run = (number: number, ok: boolean, commit: string): LineRun => ({
    number,
    ok,
    seconds: 7,
    commit,
    date: "2030-01-02",
  });

  test("of a run replace those of its lines and keep the others", () => {
    const first = withSection(
      "# P\n\n## A\n\nx\n",
      RUNS,
      runsTable(lines, [run(1, true, "aaa"), run(2, false, "aaa")]),
    );
    const again = withSection(first, RUNS, runsTable(lines, [...lastRuns(first), run(2, true, "bbb")]));
    assert.deepEqual(lastRuns(first), [run(1, true, "aaa"), run(2, false, "aaa")]);
    assert.match(again, /\| 1 \| `npm run c1` \| passed \| 7 s \| `aaa` \|/);
    assert.match(again, /\| 2 \| `npm run c2` \| passed \| 7 s \| `bbb` \|/);
    assert.match(again, /\| 3 \| `npm run c3` \| not run \|/);
    assert.match(again, /^# P\n\n## A\n\nx\n\n## Last runs\n/);
  });

  const chosen: readonly (readonly [string | undefined, number[]])[] = [
    [undefined, [1, 2, 3]],
    ["2", [2]],
    ["1,3", [1, 3]],
    ["2-9", [2, 3]],
    ["x", []],
  ];
  for (const [text, wanted] of chosen)
    test(`--only=${text} takes ${wanted.join(", ") || "none"}`, () =>
      assert.deepEqual(
        lines.filter(picks(text)).map(({ number }) => number),
        wanted,
      ));

  test("a row without exactly one command is refused", () => {
    const page = "# P\n\n## Line by line\n\n| # | Claim | Command |\n|---|---|---|\n| 1 | c | `a` and `b` |\n";
    assert.throws(() => goLines(page), /one command/);
  });
});
