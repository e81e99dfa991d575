/**
 * Golden screens: what a terminal shows, line by line, compared with what was committed. Volatile parts are masked by
 * whoever asks. A wanted change: `UPDATE_GOLDEN=1` writes the files anew; look at the difference before you commit it.
 */
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { until } from "./until.ts";

const UPDATING = process.env.UPDATE_GOLDEN === "1";
const RULE = "=====";
/** How long a screen has to stand still before it is written (ms), and how long one may take to become what it should. */
const STILL_MS = 1_500;
const DEADLINE_MS = 30_000;

export interface GoldenFile {
  /** Resolves once the masked screen is the committed one of that name; fails with both. */
  shows(name: string, screen: () => Promise<string>): Promise<void>;
}

export function goldenFile(path: string, mask: (screen: string) => string): GoldenFile {
  const known = new Map<string, string>();
  if (existsSync(path))
    for (const part of readFileSync(path, "utf8")
      .split(new RegExp(`^${RULE} `, "m"))
      .slice(1)) {
      const at = part.indexOf("\n");
      known.set(part.slice(0, at), part.slice(at + 1));
    }
  const read = async (screen: () => Promise<string>): Promise<string> => `${mask(trimmed(await screen()))}\n`;

  return {
    async shows(name, screen) {
      if (UPDATING) {
        known.set(name, await still(() => read(screen)));
        mkdirSync(dirname(path), { recursive: true });
        writeFileSync(path, [...known].map(([title, shot]) => `${RULE} ${title}\n${shot}`).join(""));
        return;
      }
      let last = "";
      try {
        await until(
          async () => {
            last = await read(screen);
            return isSame(last, known.get(name) ?? "");
          },
          DEADLINE_MS,
          name,
          60,
        );
      } catch {
        assert.equal(last, known.get(name) ?? "(not committed)", `${name} of ${path}`);
      }
    },
  };
}

/** Rows at the top that may have been scrolled out or not yet: it depends on when a widget below went away (Pi 0.73.1). */
const MAX_SCROLLED = 4;

function isSame(seen: string, committed: string): boolean {
  const [short = "", long = ""] = [seen, committed].sort((a, b) => a.length - b.length);
  const scrolled = long.slice(0, long.length - short.length);
  return (
    long.endsWith(short) &&
    (scrolled === "" || scrolled.endsWith("\n")) &&
    scrolled.split("\n").length - 1 <= MAX_SCROLLED
  );
}

/** Without the blanks at line ends, and without empty lines at the end. */
function trimmed(screen: string): string {
  return screen
    .split("\n")
    .map((line) => line.trimEnd())
    .join("\n")
    .trimEnd();
}

async function still(read: () => Promise<string>): Promise<string> {
  let last = await read();
  let since = performance.now();
  return until(
    async () => {
      const now = await read();
      if (now !== last) {
        last = now;
        since = performance.now();
      }
      return performance.now() - since > STILL_MS ? now : undefined;
    },
    DEADLINE_MS,
    "a screen that stands still",
    60,
  );
}
