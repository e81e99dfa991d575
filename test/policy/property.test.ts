import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { parse } from "unbash";
import type { Verdict } from "../../src/core/contracts/policy.ts";
import { VERDICT_ORDER } from "../../src/policy/index.ts";
import { bash, decide, verdictOf } from "./support.ts";

const DENIED: readonly string[][] = [
  ["rm", "-rf", "/"],
  ["rm", "-rf", "/home/user"],
  ["claude", "--dangerously-skip-permissions", "-p", "x"],
  ["cat", "/home/user/.ssh/id_rsa"],
  ["git", "push", "--force"],
  ["pkill", "node"],
  ["tee", ".claude/settings.json"],
  ["git", "-c", "core.pager=./x", "log"],
  ["docker", "run", "--privileged", "x"],
  ["reboot"],
];

/** One word in one of many spellings that mean the same to a shell. */
function spelled(word: string): fc.Arbitrary<string> {
  return fc.constantFrom(
    word,
    `'${word}'`,
    `"${word}"`,
    `$'${[...word].map((char) => `\\x${char.charCodeAt(0).toString(16)}`).join("")}'`,
    [...word].map((char) => (/[A-Za-z]/.test(char) ? `\\${char}` : char)).join(""),
    `${word.slice(0, 1)}""${word.slice(1)}`,
    `''${word}`,
    `"${word.slice(0, 2)}"'${word.slice(2)}'`,
  );
}

const deniedCommand = fc
  .constantFrom(...DENIED)
  .chain((words) => fc.tuple(...words.map(spelled)))
  .chain((words) => fc.constantFrom(" ", "  ", "\t", " \\\n ").map((blank) => words.join(blank)));

const quoteForShell = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** Ways to run a command inside another: wrappers, strings, lists, loops, substitutions. */
const NESTINGS: readonly ((command: string) => string)[] = [
  (c) => `ls && ${c}`,
  (c) => `ls; ${c}; ls`,
  (c) => `ls\n${c}\nls`,
  (c) => `ls || ${c}`,
  (c) => `ls | ${c}`,
  (c) => `${c} | cat`,
  (c) => `${c} &`,
  (c) => `( ${c} )`,
  (c) => `{ ${c}; }`,
  (c) => `! ${c}`,
  (c) => `if ${c}; then ls; fi`,
  (c) => `if true; then ${c}; fi`,
  (c) => `if false; then ls; else ${c}; fi`,
  (c) => `for i in 1 2; do ${c}; done`,
  (c) => `while true; do ${c}; done`,
  (c) => `case x in x) ${c};; esac`,
  (c) => `f() { ${c}; }; f`,
  (c) => `echo "$(${c})"`,
  (c) => `cat <(${c})`,
  (c) => `x=$(${c})`,
  (c) => `time ${c}`,
  (c) => `timeout 5 ${c}`,
  (c) => `nice -n 5 ${c}`,
  (c) => `env A=1 ${c}`,
  (c) => `nohup ${c}`,
  (c) => `setsid -f ${c}`,
  (c) => `command ${c}`,
  (c) => `exec ${c}`,
  (c) => `stdbuf -oL ${c}`,
  (c) => `sudo -n ${c}`,
  (c) => `bash -c ${quoteForShell(c)}`,
  (c) => `sh -ec ${quoteForShell(c)}`,
  (c) => `eval ${quoteForShell(c)}`,
  (c) => `echo ${quoteForShell(c)} | sh`,
  (c) => `bash <<< ${quoteForShell(c)}`,
  (c) => `bash <<'END_OF_TEXT'\n${c}\nEND_OF_TEXT\n`,
  (c) => `find . -exec sh -c ${quoteForShell(c)} \\;`,
  (c) => `ls > a.txt; ${c}`,
  (c) => `cd src && ${c}`,
  (c) => `A=1 ${c}`,
  (c) => `coproc ${c}`,
  (c) => `trap ${quoteForShell(c)} EXIT`,
  (c) => `ssh localhost ${quoteForShell(c)}`,
];

const nested = fc
  .tuple(deniedCommand, fc.array(fc.integer({ min: 0, max: NESTINGS.length - 1 }), { maxLength: 3 }))
  .map(([command, layers]) => {
    let text = command;
    for (const layer of layers) text = NESTINGS[layer]?.(text) ?? text;
    return text;
  });

const rankOf = (verdict: Verdict): number => VERDICT_ORDER.indexOf(verdict);

describe("properties of the gate", () => {
  test("a denied command is never allowed, in whatever wrapper, quoting or nesting", () => {
    fc.assert(
      fc.property(nested, (command) => {
        assert.notEqual(verdictOf(command), "allow", command);
      }),
      { numRuns: 3_000 },
    );
  });

  test("a denied command stays denied in one layer of anything", () => {
    for (const words of DENIED) {
      for (const nest of NESTINGS) {
        const command = nest(words.join(" "));
        assert.equal(verdictOf(command), "deny", command);
      }
    }
  });

  test("text that does not parse, put anywhere, never makes a verdict milder than asking", () => {
    const fragments = ['"', "'", "$(", "`", "((", "${", "<<", ";;", "fi", "done", ")", "}", "\\", "<(", "&&&"];
    const commands = ["ls -la", "rm -rf ~", "git push", "node x.mjs", "cat ~/.netrc", "git status && npm publish"];
    fc.assert(
      fc.property(fc.constantFrom(...commands), fc.constantFrom(...fragments), fc.nat(), (command, fragment, at) => {
        const place = at % (command.length + 1);
        const broken = `${command.slice(0, place)}${fragment}${command.slice(place)}`;
        if (parse(broken).errors === undefined) return; // the fragment became part of a word
        assert.notEqual(verdictOf(broken), "allow", broken);
      }),
      { numRuns: 2_000 },
    );
    for (const command of commands) {
      for (const fragment of fragments) {
        const appended = `${command}\n${fragment}`;
        assert.ok(rankOf(verdictOf(appended)) >= rankOf(verdictOf(command)), appended);
      }
    }
  });

  test("adding a part never makes a verdict milder", () => {
    const parts = ["ls", "git push", "node x.mjs", "rm -rf ~", "npm install", "git status", "cat .env", "reboot"];
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(...parts), { minLength: 1, maxLength: 5 }),
        fc.constantFrom("; ", " && ", " || ", " | ", "\n"),
        (list, join) => {
          const worst = Math.max(...list.map((part) => rankOf(verdictOf(part))));
          assert.ok(rankOf(verdictOf(list.join(join))) >= worst, list.join(join));
        },
      ),
      { numRuns: 500 },
    );
  });

  test("words of a commit message, a search or an echo never decide", () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1, maxLength: 60, unit: "grapheme-ascii" }), (text) => {
        const word = quoteForShell(text.replace(/^[-=~]+/, "x"));
        if (/[A-Za-z]:[\\/]|\\\\/.test(text)) return;
        for (const command of [`git commit -m ${word}`, `echo ${word}`, `grep -n -e ${word} src/a.ts`]) {
          assert.equal(verdictOf(command), "allow", command);
        }
      }),
      { numRuns: 1_000 },
    );
  });

  test("random text and random input never throw", () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 300, unit: "binary" }), (text) => {
        decide(bash(text));
      }),
      { numRuns: 2_000 },
    );
    fc.assert(
      fc.property(fc.string(), fc.anything(), fc.string(), (toolName, input, cwd) => {
        decide({ toolName, input, cwd });
        decide({ toolName: "Bash", input, cwd });
        decide({ toolName: "Read", input, cwd });
      }),
      { numRuns: 1_000 },
    );
  });

  test("10,000 random bytes are judged in under 5 ms at the 99th percentile", (t) => {
    const alphabet = "abc xyz $(){}[]<>|&;'\"`\\\n\t#~*?!=-/.,:0123456789";
    const times: number[] = [];
    let seed = 0x2f6e2b1;
    const next = (below: number): number => {
      seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
      return seed % below;
    };
    for (let round = 0; round < 150; round += 1) {
      let text = "";
      while (text.length < 10_000)
        text += round % 2 === 0 ? String.fromCharCode(next(256)) : (alphabet[next(alphabet.length)] ?? " ");
      // Processor time, and the best of three runs: other programs on the machine do not count.
      const runs = [0, 1, 2].map(() => {
        const start = process.cpuUsage();
        decide(bash(text));
        const used = process.cpuUsage(start);
        return (used.user + used.system) / 1_000;
      });
      times.push(Math.min(...runs));
    }
    times.sort((a, b) => a - b);
    const p99 = times[Math.floor(times.length * 0.99)] ?? 0;
    t.diagnostic(`median ${(times[75] ?? 0).toFixed(2)} ms, p99 ${p99.toFixed(2)} ms`);
    assert.ok(p99 < 5, `p99 ${p99} ms`);
  });
});
