/** `npm run test:pi`: the end-to-end tests on both lines of Pi. Unlike `npm test` it fails where a line cannot run. */
import { spawnSync } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { PI_LINES, skipReason } from "../test/support/pi-setup.ts";

for (const line of PI_LINES) {
  const unable = await skipReason(line);
  if (unable === undefined) continue;
  console.error(`Pi ${line} cannot run here: ${unable}`);
  process.exit(1);
}
const tests = join(dirname(fileURLToPath(import.meta.url)), "run-tests.ts");
const { status } = spawnSync(process.execPath, ["--import", "tsx", tests, "e2e", "recent", "earlier"], {
  stdio: "inherit",
});
process.exitCode = status ?? 1;
