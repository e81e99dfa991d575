/** A part of a page that a program writes: everything below one heading of the second level, up to the next one. */
import { readFileSync, writeFileSync } from "node:fs";

/** `page` with the section `## title` replaced, or added at its end. */
export function withSection(page: string, title: string, body: string): string {
  const parts = page.trimEnd().split(/^(?=## )/m);
  const section = `## ${title}\n\n${body.trim()}\n`;
  const at = parts.findIndex((part) => part.startsWith(`## ${title}\n`));
  const others = parts.map((part) => `${part.trimEnd()}\n`);
  if (at < 0) others.push(section);
  else others[at] = section;
  return others.join("\n");
}

/** The text below `## title`; "" when there is none. */
export function sectionOf(page: string, title: string): string {
  const part = page.split(/^(?=## )/m).find((one) => one.startsWith(`## ${title}\n`)) ?? "";
  return part.slice(part.indexOf("\n") + 1).trim();
}

export function writeSection(path: string, title: string, body: string): void {
  writeFileSync(path, withSection(readFileSync(path, "utf8"), title, body));
}

/** The cells of the body rows of the tables in a text; `\|` inside a cell is a pipe. */
export function rowsOf(text: string): string[][] {
  return [...text.matchAll(/^\|(.+)\|$/gm)]
    .map((match) => (match[1] ?? "").split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|")))
    .filter((cells) => !cells.every((cell) => /^:?-*:?$/.test(cell)));
}
