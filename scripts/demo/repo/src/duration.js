const UNITS = { s: 1_000, m: 60_000, h: 3_600_000 };

/** Milliseconds in a text like "90s" or "1h 30m". */
export function parseDuration(text) {
  const match = /^(\d+)([smh])$/.exec(text.trim());
  if (!match) throw new RangeError(`not a duration: ${text}`);
  return Number(match[1]) * UNITS[match[2]];
}
