/**
 * A command line cut into simple commands and their words, roughly: enough for a filter of mistakes. Quotes and
 * backslashes are taken away as the shell would; what the shell would compute is marked.
 */

export interface Word {
  text: string;
  /** Holds an expansion or a glob: what it becomes is not known here. */
  dynamic: boolean;
  /** The word is the target of `>`, `>>`, `>|` or `&>`. */
  target: boolean;
}

export type SimpleCommand = Word[];

/** Splits at `;`, `&`, `|`, newlines, parentheses, braces and backticks, outside of quotes. */
export function simpleCommands(line: string): SimpleCommand[] {
  const commands: SimpleCommand[] = [];
  let words: SimpleCommand = [];
  let text = "";
  let isOpen = false;
  let dynamic = false;
  let target = false;
  const endWord = (): void => {
    if (isOpen) {
      words.push({ text, dynamic, target });
      target = false;
    }
    text = "";
    isOpen = false;
    dynamic = false;
  };
  const endCommand = (): void => {
    endWord();
    if (words.length > 0) commands.push(words);
    words = [];
    target = false;
  };
  for (let at = 0; at < line.length; at += 1) {
    const char = line.charAt(at);
    if (char === "\\") {
      at += 1;
      if (line.charAt(at) !== "\n") text += line.charAt(at);
      isOpen ||= line.charAt(at) !== "\n";
    } else if (char === "'") {
      const end = line.indexOf("'", at + 1);
      text += line.slice(at + 1, end < 0 ? undefined : end);
      isOpen = true;
      at = end < 0 ? line.length : end;
    } else if (char === '"') {
      isOpen = true;
      for (at += 1; at < line.length && line.charAt(at) !== '"'; at += 1) {
        if (line.charAt(at) === "\\") at += 1;
        else if (line.charAt(at) === "$" || line.charAt(at) === "`") dynamic = true;
        text += line.charAt(at);
      }
    } else if (char === " " || char === "\t") {
      endWord();
    } else if (char === ">" || char === "<") {
      // A number before it names a descriptor.
      if (/^\d+$/.test(text)) isOpen = false;
      endWord();
      while (">|&<".includes(line.charAt(at + 1)) && line.charAt(at + 1) !== "") at += 1;
      target = char === ">";
    } else if (";&|\n(){}`".includes(char)) {
      if (char === "{" && line.charAt(at - 1) === "$") text += char;
      else if (char === "}" && text.includes("${")) text += char;
      else if ((char === "{" || char === "}") && isOpen) {
        text += char;
        dynamic = true;
      } else if (char === "&" && line.charAt(at + 1) === ">") endWord();
      else endCommand();
    } else {
      if ("$*?[".includes(char)) dynamic = true;
      text += char;
      isOpen = true;
    }
  }
  endCommand();
  return commands;
}
