/** `npm run bench -- <name>`: one benchmark by name, e.g. `policy`; without a name all of them, one after the other. */
import { existsSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const folder = dirname(fileURLToPath(import.meta.url));
const known = readdirSync(folder).flatMap((file) => /^bench-(.+)\.ts$/.exec(file)?.[1] ?? []);
const asked = process.argv.slice(2).filter((word) => !word.startsWith("-"));
const unknown = asked.find((name) => !existsSync(join(folder, `bench-${name}.ts`)));
if (unknown !== undefined) {
  console.error(`There is no benchmark "${unknown}". Known: ${known.join(", ")}.`);
  process.exit(2);
}
for (const name of asked.length > 0 ? asked : known) {
  console.log(`\n# ${name}`);
  await import(pathToFileURL(join(folder, `bench-${name}.ts`)).href);
}
