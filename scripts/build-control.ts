/**
 * Builds dist/cli/control.js: the emergency stop's command as one file that imports nothing but `node:`, so that it runs
 * where no dependency is installed. `esbuild` comes with tsx.
 */
import { chmodSync, mkdirSync, readFileSync, realpathSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), "..");

/**
 * Writes the command to `outFile`, executable, and resolves with its length in bytes. `root` is the checkout that is
 * compiled. Throws when the bundle would import a package, which may not be installed where it runs.
 */
export async function buildControl(outFile: string, root = ROOT): Promise<number> {
  mkdirSync(dirname(outFile), { recursive: true });
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: ["src/cli/control.ts"],
    outfile: outFile,
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
  const text = readFileSync(outFile, "utf8");
  if (foreign.length > 0 || /\bimport\("(?!node:)/.test(text))
    throw new Error(
      `The bundle would import ${foreign.map((one) => one.path).join(", ")}, which may not be installed.`,
    );
  chmodSync(outFile, 0o755);
  return Buffer.byteLength(text);
}

if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const out = resolve(process.argv[2] ?? resolve(ROOT, "dist/cli/control.js"));
  console.log(`${out}: ${await buildControl(out)} bytes`);
}
