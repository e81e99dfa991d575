/** How text is laid out on a screen of ours: wrapped, cut, scrolled. Pure. */

/** Parts separated by ` · `, as many on a line as fit. */
export function flowed(parts: string, columns: number): string[] {
  const lines: string[] = [];
  for (const part of parts.split(" · ")) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 3 + part.length <= columns) lines[lines.length - 1] = `${last} · ${part}`;
    else lines.push(part);
  }
  return lines;
}

export function wrap(line: string, columns: number): string[] {
  const parts: string[] = [];
  for (let rest = line; ; ) {
    if (rest.length <= columns || columns < 2) return [...parts, rest];
    parts.push(rest.slice(0, columns));
    rest = rest.slice(columns);
  }
}

/** Begin and end of what does not fit, and how much is left out. */
export function cutMiddle(lines: readonly string[], height: number): string[] {
  if (lines.length <= height) return [...lines];
  const half = Math.max(1, Math.floor((height - 1) / 2));
  const left = lines.length - 2 * half;
  return [
    ...lines.slice(0, half),
    `[${left} lines are not shown; read all: /supervise approvals --json]`,
    ...lines.slice(-half),
  ];
}

/** The part of a list around the selected row, which is marked. */
export function windowed(
  rows: readonly string[],
  selected: number,
  height: number,
  mark: (row: string) => string,
): string[] {
  const from = Math.min(Math.max(0, selected - Math.floor(height / 2)), Math.max(0, rows.length - height));
  return rows.slice(from, from + height).map((row, at) => (from + at === selected ? mark(`→ ${row}`) : `  ${row}`));
}

/** Pi paints over what was there: a line ends with a blank. */
export function pad(line: string): string {
  return line === "" ? " " : line;
}
