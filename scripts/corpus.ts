/**
 * Judges a file of cases: `npx tsx scripts/corpus.ts <policy|secrets|framing> FILE`. Each kind is its own module beside
 * this one and is loaded only when it is asked for.
 */
import { existsSync } from "node:fs";
import { fileURLToPath, pathToFileURL } from "node:url";

interface CorpusModule {
  run(file: string): Promise<number>;
}

const KINDS = ["policy", "secrets", "framing"];
const USAGE = `Usage: npx tsx scripts/corpus.ts <${KINDS.join("|")}> FILE`;

async function main(args: readonly string[]): Promise<number> {
  const [kind, file] = args;
  if (kind === undefined || file === undefined || args.length !== 2 || !KINDS.includes(kind)) {
    console.error(USAGE);
    return 2;
  }
  if (!existsSync(file)) {
    console.error(`No such file: ${file}. Give the path of a .jsonl file with ${kind} cases.`);
    return 2;
  }
  const module = (await import(
    pathToFileURL(fileURLToPath(new URL(`./corpus/${kind}.ts`, import.meta.url))).href
  )) as CorpusModule;
  return await module.run(file);
}

process.exitCode = await main(process.argv.slice(2));
