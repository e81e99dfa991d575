/**
 * Shell-free split of a verification command. Only what every POSIX shell would read the same way without expanding
 * anything is split; the rest runs as `sh -c` with the text shown to the person.
 */

/** Characters that mean something to a shell outside quotes (`~` and `#` only where a word begins, `=` in word one). */
const META = new Set("|&;<>()$`*?[]{}!\n\r");
/** Words that only a shell knows: POSIX.1-2017 reserved words, special built-ins and those without a program of their own. */
const BUILTINS = new Set(
  (
    "if then else elif fi do done case esac while until for in time function select " +
    ": . break continue eval exec exit export readonly return set shift times trap unset source local declare " +
    "alias bg builtin cd command fc fg getopts hash jobs let read type ulimit umask unalias wait"
  ).split(" "),
);

/** `undefined` when a shell is needed (or the quoting is open). An empty text gives `[]`. */
export function splitCommand(text: string): string[] | undefined {
  const words: string[] = [];
  let word: string | undefined;
  for (let at = 0; at < text.length; at++) {
    const char = text[at] ?? "";
    if (char === " " || char === "\t") {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else if (char === "'") {
      const close = text.indexOf("'", at + 1);
      if (close < 0) return undefined;
      word = (word ?? "") + text.slice(at + 1, close);
      at = close;
    } else if (char === '"') {
      const quoted = doubleQuoted(text, at + 1);
      if (quoted === undefined) return undefined;
      word = (word ?? "") + quoted.value;
      at = quoted.close;
    } else if (char === "\\") {
      const next = text[at + 1];
      if (next === undefined || next === "\n") return undefined;
      word = (word ?? "") + next;
      at++;
    } else if (META.has(char) || (word === undefined && (char === "~" || char === "#"))) {
      return undefined;
    } else {
      word = (word ?? "") + char;
    }
  }
  if (word !== undefined) words.push(word);
  const first = words[0];
  if (first !== undefined && (/^[A-Za-z_][A-Za-z0-9_]*\+?=/.test(first) || BUILTINS.has(first))) return undefined;
  return words;
}

function doubleQuoted(text: string, start: number): { value: string; close: number } | undefined {
  let value = "";
  for (let at = start; at < text.length; at++) {
    const char = text[at] ?? "";
    if (char === '"') return { value, close: at };
    if (char === "$" || char === "`") return undefined;
    const next = text[at + 1] ?? "";
    if (char === "\\" && '"\\$`'.includes(next) && next !== "") {
      value += next;
      at++;
    } else {
      value += char;
    }
  }
  return undefined;
}
