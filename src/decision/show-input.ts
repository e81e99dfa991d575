/** A tool's input as a model reads it best: strings as they are, not as JSON in JSON. */

/**
 * One line a field; a string of several lines stands indented below its name. What is not an object is shown as JSON.
 * Bounded by the caller.
 */
export function showInput(input: unknown): string {
  if (typeof input === "string") return input;
  if (typeof input !== "object" || input === null || Array.isArray(input)) return JSON.stringify(input) ?? "nothing";
  const fields = Object.entries(input).map(([key, value]) => {
    const name = /^[\w.-]{1,80}$/.test(key) ? key : JSON.stringify(key);
    if (typeof value !== "string") return `${name}: ${JSON.stringify(value) ?? "nothing"}`;
    return /[\n\r]/.test(value) ? `${name}:\n${indented(value)}` : `${name}: ${value}`;
  });
  return fields.length === 0 ? "(empty)" : fields.join("\n");
}

function indented(text: string): string {
  return text
    .replace(/\r\n/g, "\n")
    .split("\n")
    .map((line) => `  ${line}`)
    .join("\n");
}
