import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import fc from "fast-check";
import { contextOf, factsOf } from "../../scripts/corpus/policy.ts";
import { reportPrograms } from "../../src/policy/index.ts";

/** Programs that exist only here: each writes its own name to a log and does nothing else. */
const STUBS = ["pa", "qb", "rc", "sd", "te"];
const BASH = "/bin/bash";

let folder = "";

before(() => {
  folder = mkdtempSync(join(tmpdir(), "policy-bash-"));
  for (const name of STUBS)
    writeFileSync(join(folder, name), `#!${BASH}\necho ${name} >> "$STUB_LOG"\necho ${name}\n`, { mode: 0o755 });
  for (const name of ["bash", "sh"]) symlinkSync(BASH, join(folder, name));
});

after(() => {
  rmSync(folder, { recursive: true, force: true });
});

/** What a real Bash starts, with nothing but the stubs and itself on its PATH. */
function executed(command: string): Set<string> {
  const log = join(folder, "log");
  rmSync(log, { force: true });
  spawnSync(BASH, ["--norc", "--noprofile", "-c", command], {
    cwd: folder,
    env: { PATH: folder, STUB_LOG: log, HOME: folder },
    timeout: 5_000,
    input: "",
  });
  return new Set(
    existsSync(log)
      ? readFileSync(log, "utf8")
          .split("\n")
          .filter((line) => line !== "")
      : [],
  );
}

const stub = fc.constantFrom(...STUBS);

/** The name of a program in one of many spellings. */
const name = fc.tuple(stub, fc.integer({ min: 0, max: 8 })).map(([word, style]) => {
  const [first, second] = [word.slice(0, 1), word.slice(1)];
  return (
    [
      word,
      word,
      word,
      `'${word}'`,
      `"${word}"`,
      `${first}\\${second}`,
      `${first}''${second}`,
      `$'\\x${word.charCodeAt(0).toString(16)}'${second}`,
      `${first}"${second}"`,
    ][style] ?? word
  );
});

const word = fc.oneof(
  fc.constantFrom(
    "x",
    "-a",
    "'pa qb'",
    '"; rc"',
    "a\\;sd",
    "#te",
    "a#te",
    "$HOME",
    '"$HOME"',
    "{a,b}",
    "~",
    "*",
    "'$(pa)'",
    '"\\$(qb)"',
    `\${x:-y}`,
    "$((1+2))",
    "a=b",
    "$'a\\nb'",
  ),
  stub.map((inner) => `$(${inner})`),
  stub.map((inner) => `"$(${inner} x)"`),
  stub.map((inner) => `\`${inner}\``),
  stub.map((inner) => `"a\`${inner}\`b"`),
  stub.map((inner) => `<(${inner})`),
  stub.map((inner) => `\${x:-$(${inner})}`),
  stub.map((inner) => `"\${x/a/$(${inner})}"`),
  stub.map((inner) => `$((1 + $(${inner}; echo 1)))`),
  stub.map((inner) => `{a,$(${inner})}`),
  stub.map((inner) => `\${y:=$(${inner})}`),
);

const redirect = fc.constantFrom(
  "",
  "",
  "",
  " > out",
  " 2>&1",
  " < /dev/null",
  " >> out 2> err",
  " &> out",
  " <<< 'pa'",
  " <<'END'\nqb\n$(rc)\nEND\n",
  " <<END\n$(sd)\nEND\n",
  " <<-END\n\tte\n\tEND\n",
);

const simple: fc.Arbitrary<string> = fc
  .tuple(fc.constantFrom("", "", "", "A=1 ", "A=$(te) "), name, fc.array(word, { maxLength: 3 }), redirect)
  .map(([assignment, head, words, tail]) => `${assignment}${[head, ...words].join(" ")}${tail}`);

const quoteForShell = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

const { command } = fc.letrec<{ command: string }>((tie) => ({
  command: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    simple,
    fc.tuple(tie("command"), tie("command")).map(([a, b]) => `${a}\n${b}`),
    fc
      .tuple(tie("command"), fc.constantFrom("&&", "||", "|", "|&", ";"), simple)
      .map(([a, op, b]) => (a.includes("\n") ? `${a}\n${b}` : `${a} ${op} ${b}`)),
    tie("command").map((c) => `(${c}\n)`),
    tie("command").map((c) => `{ ${c}\n}`),
    tie("command").map((c) => `if ${c}\nthen ${c}\nelse te\nfi`),
    tie("command").map((c) => `for i in 1 2; do ${c}\ndone`),
    tie("command").map((c) => `while false; do ${c}\ndone; until ${c}\ndo break; done`),
    tie("command").map((c) => `case x in (x) ${c}\n;; *) pa;; esac`),
    tie("command").map((c) => `f() { ${c}\n}\nf`),
    tie("command").map((c) => `! ${c}`),
    tie("command").map((c) => `time ${c}`),
    tie("command").map((c) => `[[ -n "$(${c}\n)" ]] && qb`),
    tie("command").map((c) => `bash -c ${quoteForShell(c)}`),
    tie("command").map((c) => `sh -ec ${quoteForShell(c)}`),
    tie("command").map((c) => `eval ${quoteForShell(c)}`),
    tie("command").map((c) => `echo ${quoteForShell(c)} | bash`),
    tie("command").map((c) => `printf '%s\\n' ${quoteForShell(c)} | sh`),
    tie("command").map((c) => `bash <<< ${quoteForShell(c)}`),
    tie("command").map((c) => `trap ${quoteForShell(c)} EXIT`),
    tie("command").map((c) => `${c} # sd\n`),
    stub.map((inner) => `X=${inner}; $X a`),
    stub.map((inner) => `X="${inner} b"; $X`),
    stub.map((inner) => `command ${inner}; exec ${inner} x`),
    stub.map((inner) => `a[$(${inner})0]=1; echo "\${a[$(${inner})]}"`),
    stub.map((inner) => `export Y=$(${inner}); declare z=$(${inner})`),
    stub.map((inner) => `{${inner},x}`),
    stub.map((inner) => `${inner} \\\n  x \\\n  y`),
    stub.map((inner) => `coproc ${inner}; wait`),
    stub.map((inner) => `${inner} & wait`),
  ),
}));

describe("what the parser reports and what Bash does", { skip: existsSync(BASH) ? false : "no /bin/bash here" }, () => {
  const context = contextOf({});
  const facts = factsOf({});

  test("G7: every program that Bash really starts was reported, or the command was reported as open", (t) => {
    let checked = 0;
    let closed = 0;
    let ran = 0;
    fc.assert(
      fc.property(command, (line) => {
        const { programs, open } = reportPrograms(line, "/workspace", context, facts);
        checked += 1;
        if (open) return;
        closed += 1;
        const started = executed(line);
        ran += started.size;
        for (const program of started)
          assert.ok(
            programs.has(program),
            `${program} was started by ${JSON.stringify(line)} but only ${[...programs].join(", ")} reported`,
          );
      }),
      { numRuns: 250 },
    );
    t.diagnostic(`${checked} commands, ${closed} of them closed, ${ran} programs started`);
    assert.ok(closed > checked / 3, "most generated commands must be understood for the comparison to mean something");
    assert.ok(ran > closed / 2, "Bash must really have started programs");
  });
});
