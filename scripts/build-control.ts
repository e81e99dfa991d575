/**
 * Builds dist/cli/control.js: the emergency stop's command as one file that imports nothing but `node:`, so that it runs
 * where no dependency is installed. `esbuild` comes with tsx.
 */
import { chmodSync, mkdirSync, readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), "..");
const OUT = resolve(process.argv[2] ?? resolve(ROOT, "dist/cli/control.js"));

mkdirSync(dirname(OUT), { recursive: true });
const { metafile } = await build({
  absWorkingDir: ROOT,
  entryPoints: ["src/cli/pi-claude-supervisor-control.ts"],
  outfile: OUT,
  bundle: true,
  platform: "node",
  target: "node20.17",
  format: "esm",
  // Starts of workers are no business of this command; `execa` is only reached from there.
  external: ["execa"],
  legalComments: "none",
  charset: "utf8",
  metafile: true,
});
const foreign = Object.values(metafile.outputs)
  .flatMap((output) => output.imports)
  .filter((one) => one.external === true && !one.path.startsWith("node:"));
const text = readFileSync(OUT, "utf8");
if (foreign.length > 0 || /\bimport\("(?!node:)/.test(text)) {
  console.error(`The bundle would import ${foreign.map((one) => one.path).join(", ")}, which may not be installed.`);
  process.exit(1);
}
chmodSync(OUT, 0o755);
console.log(`${OUT}: ${text.length} bytes`);
