/**
 * `npm run check:licences [-- --write]`: the licence of every package that an installation brings, read from the installed
 * packages, against the list of those that we accept and against docs/licences.md. `--write` writes that page.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { readLock, runtimePackages } from "./package/runtime.ts";

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), "..");
const PAGE = join(ROOT, "docs", "licences.md");

/** Permissive licences that ask for no more than their text. */
const ACCEPTED = new Set(["MIT", "ISC", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "0BSD"]);

export interface Licence {
  name: string;
  version: string;
  /** SPDX expression of the installed package.json. */
  licence: string;
  /** Name of the file with the licence's text, if the package has one. */
  text: string | undefined;
}

/** One row for each version that is installed, sorted by name. */
export function licences(root = ROOT): Licence[] {
  const rows = runtimePackages(readLock(root)).map(({ name, place }) => {
    const folder = join(root, place);
    const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as {
      version: string;
      license?: unknown;
    };
    const licence = typeof manifest.license === "string" ? manifest.license : "none stated";
    const text = readdirSync(folder).find((file) => /^licen[cs]e(?:\.|$)/i.test(file));
    return { name, version: manifest.version, licence, text };
  });
  const unique = new Map(rows.map((row) => [`${row.name} ${row.version}`, row]));
  return [...unique].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row);
}

/** Sentences about packages whose licence we did not accept. */
export function refusedLicences(rows: readonly Licence[]): string[] {
  return rows
    .filter(({ licence }) => !ACCEPTED.has(licence))
    .map(({ name, version, licence }) => `${name} ${version}: ${licence}`);
}

/** The page as it has to stand in the repository. */
export function licencePage(rows: readonly Licence[]): string {
  const kinds = [...new Set(rows.map(({ licence }) => licence))].sort();
  const counted = kinds.map((kind) => `${rows.filter(({ licence }) => licence === kind).length} ${kind}`).join(", ");
  return `# Licences

After reading this page you know under which licence every package stands that an installation of this one brings.

Written by \`npm run check:licences -- --write\` from the installed packages; the same command without \`--write\` fails when a package is not named here, has changed its licence, or has one that is not accepted (${[...ACCEPTED].join(", ")}). This package itself is MIT. What the host brings (Pi, typebox) and what only development needs is in [dependencies](dependencies.md).

${rows.length} packages: ${counted}.

| Package | Version | Licence | Its text |
|---|---|---|---|
${rows.map(({ name, version, licence, text }) => `| ${name} | ${version} | ${licence} | ${text ?? "in its package.json only"} |`).join("\n")}
`;
}

if (process.argv[1] !== undefined && resolve(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const rows = licences();
  const page = licencePage(rows);
  if (process.argv.includes("--write")) writeFileSync(PAGE, page);
  const problems = refusedLicences(rows);
  if (readFileSync(PAGE, "utf8") !== page)
    problems.push("docs/licences.md is not up to date: npm run check:licences -- --write");
  for (const problem of problems) console.error(problem);
  console.log(`${rows.length} packages, ${problems.length} problems`);
  process.exitCode = problems.length > 0 ? 1 : 0;
}
