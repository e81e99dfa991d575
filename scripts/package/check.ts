/**
 * What an archive has to be before it is published: manifest, peers, required files, forbidden paths and texts, size.
 * Pure: it judges the files of an archive, so that its tests can hand it broken ones.
 */
import { posix } from "node:path";
import { createRedactor } from "../../src/redaction/index.ts";
import type { ArchiveFile } from "./archive.ts";

/** Bytes and counts; about a third above what the package has, so that growth is a decision. */
export const BUDGET = { packed: 1_150_000, unpacked: 4_000_000, files: 720, oneFile: 450_000 } as const;

const PEERS = [
  "@earendil-works/pi-coding-agent",
  "@earendil-works/pi-tui",
  "@mariozechner/pi-coding-agent",
  "@mariozechner/pi-tui",
  "typebox",
];

const REQUIRED = [
  "package.json",
  "README.md",
  "README.zh-CN.md",
  "CHANGELOG.md",
  "LICENSE",
  "sbom.cdx.json",
  "src/index.ts",
  "src/platform/containment/launcher.sh",
  "src/platform/containment/guardian.sh",
  "dist/cli/control.js",
  "docs/architecture.md",
  "docs/commands.md",
  "docs/security.md",
  "docs/emergency-stop.md",
];

/** Where a file may stand. What is not named here is not published. */
const ALLOWED = [
  /^src\/[\w./-]+\.(?:ts|sh)$/,
  /^dist\/cli\/[\w-]+\.js$/,
  /^docs\/[\w./-]+\.(?:md|json|svg)$/,
  /^(?:package\.json|README(?:\.zh-CN)?\.md|CHANGELOG\.md|LICENSE|sbom\.cdx\.json)$/,
];

/** Scripts that npm runs on the machine of somebody who installs. */
const INSTALL_SCRIPTS = ["preinstall", "install", "postinstall", "prepare", "preuninstall", "postuninstall"];

interface Manifest {
  name?: unknown;
  version?: unknown;
  license?: unknown;
  type?: unknown;
  private?: unknown;
  description?: unknown;
  keywords?: readonly string[];
  engines?: { node?: unknown };
  pi?: { extensions?: readonly string[] };
  bin?: Readonly<Record<string, string>>;
  scripts?: Readonly<Record<string, string>>;
  dependencies?: Readonly<Record<string, string>>;
  peerDependencies?: Readonly<Record<string, string>>;
  peerDependenciesMeta?: Readonly<Record<string, { optional?: boolean }>>;
  optionalDependencies?: unknown;
  bundleDependencies?: unknown;
  bundledDependencies?: unknown;
}

/** Every broken rule as one sentence; none when the archive may be published. `packedBytes`: its compressed size. */
export function checkPackage(files: readonly ArchiveFile[], packedBytes: number): string[] {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const manifest = manifestOf(byPath);
  return [
    ...REQUIRED.filter((path) => !byPath.has(path)).map((path) => `${path} is missing`),
    ...(manifest === undefined ? ["package.json is no JSON object"] : checkManifest(manifest, byPath)),
    ...files.flatMap(checkPath),
    ...checkImports(files, byPath, manifest ?? {}),
    ...files.flatMap(checkText),
    ...checkSize(files, packedBytes),
  ];
}

function manifestOf(byPath: ReadonlyMap<string, ArchiveFile>): Manifest | undefined {
  try {
    const value: unknown = JSON.parse(byPath.get("package.json")?.content.toString("utf8") ?? "");
    return typeof value === "object" && value !== null ? (value as Manifest) : undefined;
  } catch {
    return undefined; // said by the caller
  }
}

function checkManifest(manifest: Manifest, byPath: ReadonlyMap<string, ArchiveFile>): string[] {
  const found: string[] = [];
  const rule = (holds: boolean, otherwise: string): void => {
    if (!holds) found.push(`package.json: ${otherwise}`);
  };
  const version = typeof manifest.version === "string" ? manifest.version : "";
  rule(manifest.name === "pi-claude-supervisor", "name is not pi-claude-supervisor");
  rule(/^\d+\.\d+\.\d+(?:-[\w.]+)?$/.test(version), "version is not X.Y.Z");
  rule(manifest.license === "MIT", "license is not MIT");
  rule(manifest.type === "module", 'type is not "module"');
  rule(manifest.private === undefined, "private stands there");
  rule(typeof manifest.description === "string" && manifest.description !== "", "no description");
  rule(manifest.engines?.node === ">=20.17", "engines.node is not >=20.17");
  rule(manifest.keywords?.includes("pi-package") === true, 'no keyword "pi-package": the gallery would not list it');
  const entries = manifest.pi?.extensions ?? [];
  rule(entries.length > 0, "pi.extensions is empty");
  for (const entry of entries) {
    rule(byPath.has(posix.normalize(entry)), `pi.extensions names ${entry}, which is not there`);
    rule(entry.endsWith(".ts"), `pi.extensions names ${entry}: a compiled entry would resolve Pi by itself`);
  }
  rule(manifest.bin?.["pi-claude-supervisor-control"] !== undefined, "bin has no pi-claude-supervisor-control");
  for (const [name, path] of Object.entries(manifest.bin ?? {})) {
    const file = byPath.get(posix.normalize(path));
    rule(file !== undefined, `bin ${name} is not there`);
    if (file === undefined) continue;
    rule((file.mode & 0o111) !== 0, `bin ${name} is not executable`);
    rule(
      file.content.toString("utf8", 0, 20).startsWith("#!/usr/bin/env node\n"),
      `bin ${name} does not begin with node's line`,
    );
  }
  for (const name of INSTALL_SCRIPTS)
    rule(manifest.scripts?.[name] === undefined, `the script ${name} would run at installation`);
  checkDependencies(manifest, rule);
  const log = byPath.get("CHANGELOG.md")?.content.toString("utf8") ?? "";
  if (byPath.has("CHANGELOG.md"))
    rule(
      log.includes(`\n## [${version}]`) || log.includes(`\n## ${version}`),
      `CHANGELOG.md has no heading for ${version}`,
    );
  return found;
}

/** Pi hands its own packages to an extension: a copy of our own would be a second registry of everything. */
function checkDependencies(manifest: Manifest, rule: (holds: boolean, otherwise: string) => void): void {
  const peers = manifest.peerDependencies ?? {};
  rule(Object.keys(peers).sort().join() === PEERS.join(), `the peers are not ${PEERS.join(", ")}`);
  for (const [name, range] of Object.entries(peers)) {
    rule(range === "*", `peer ${name} is "${range}", not "*"`);
    rule(manifest.peerDependenciesMeta?.[name]?.optional === true, `peer ${name} is not optional: npm would fetch it`);
  }
  for (const [name, range] of Object.entries(manifest.dependencies ?? {})) {
    rule(/^\d+\.\d+\.\d+$/.test(range), `dependency ${name} is "${range}", not one exact version`);
    const host = /^@(?:mariozechner|earendil-works)\/|^(?:@sinclair\/)?typebox$|^@anthropic-ai\//.test(name);
    rule(!host, `${name} is a dependency, but the person or the host brings it`);
  }
  rule(
    manifest.bundleDependencies === undefined && manifest.bundledDependencies === undefined,
    "it bundles dependencies",
  );
  rule(manifest.optionalDependencies === undefined, "it has optional dependencies");
}

function checkPath({ path, kind, mode }: ArchiveFile): string[] {
  const found: string[] = [];
  if (kind !== "file") found.push(`${path} is no regular file`);
  if (path.startsWith("/") || path.split("/").includes("..")) found.push(`${path} leads out of the package`);
  if (!ALLOWED.some((pattern) => pattern.test(path))) found.push(`${path} does not belong into the package`);
  if ((mode & 0o022) !== 0) found.push(`${path} is writable by others (mode ${mode.toString(8)})`);
  return found;
}

const IMPORT = /(?:^|\n)\s*(?:import|export)\s[^;"'`]*?from\s*"([^"]+)"|\bimport\(\s*"([^"]+)"\s*\)/g;
const TYPE_ONLY = /^\s*(?:import|export) type\s/;

/** Every import of the sources leads to a file of the archive, to Node, to a dependency or (erased or in sdk.ts) to the host. */
function checkImports(
  files: readonly ArchiveFile[],
  byPath: ReadonlyMap<string, ArchiveFile>,
  manifest: Manifest,
): string[] {
  const installed = new Set(Object.keys(manifest.dependencies ?? {}));
  const peers = new Set(Object.keys(manifest.peerDependencies ?? {}));
  return files.flatMap(({ path, content }) => {
    if (!/^src\/.*\.ts$/.test(path)) return [];
    return [...content.toString("utf8").matchAll(IMPORT)].flatMap((match) => {
      const target = match[1] ?? match[2] ?? "";
      if (target.startsWith("node:")) return [];
      if (target.startsWith(".")) {
        return byPath.has(posix.join(posix.dirname(path), target))
          ? []
          : [`${path} imports ${target}, which is not there`];
      }
      const name = target
        .split("/")
        .slice(0, target.startsWith("@") ? 2 : 1)
        .join("/");
      if (installed.has(name)) return [];
      if (peers.has(name) || (TYPE_ONLY.test(match[0].trimStart()) && name.startsWith("@"))) return [];
      return [`${path} imports ${target}, which nobody installs`];
    });
  });
}

const redactor = createRedactor({ salt: "package" });

/**
 * The redactor's own sources, what bundles them, and documents speak of passwords and tokens: there, words that merely
 * stand where a secret would are no finding. What has the form of a token or key is one wherever it stands.
 */
const SPEAKS_OF_SECRETS = /^(?:src\/redaction\/|docs\/[\w-]+\.md$|README(?:\.zh-CN)?\.md$|CHANGELOG\.md$|dist\/cli\/)/;
const WITHOUT_FORM = /^(?:password|token|secret|private-key|webhook)$/;

const FORBIDDEN_TEXTS: readonly (readonly [RegExp, string])[] = [
  // Names that stand for anybody are fine: they are examples.
  [/(?<![\w.])\/(?:work|root|Users|home)\/(?!(?:you|me|user|x|a|u)\/)[\w.-]+\//, "a path of somebody's machine"],
  [/\bresolved"?:\s*"https?:/, "an address of a registry"],
  [/\bsourceMappingURL=/, "a source map"],
  [/<<<<<<< |>>>>>>> /, "a conflict that was not resolved"],
];

function checkText({ path, content }: ArchiveFile): string[] {
  if (content.includes(0)) return [`${path} is binary`];
  const text = content.toString("utf8");
  const found = FORBIDDEN_TEXTS.flatMap(([pattern, what]) => {
    const match = pattern.exec(text);
    return match === null ? [] : [`${path} has ${what}: ${match[0].trim()}`];
  });
  const shown = markers(text);
  const kinds = markers(redactor.text(text)).filter((kind) => !shown.includes(kind));
  for (const kind of kinds) {
    if (!(SPEAKS_OF_SECRETS.test(path) && WITHOUT_FORM.test(kind)))
      found.push(`${path} has what looks like a secret (${kind})`);
  }
  return found;
}

function markers(text: string): string[] {
  return [...new Set([...text.matchAll(/\[redacted:([a-z-]+):[0-9a-f]+\]/g)].map((match) => match[1] ?? ""))];
}

function checkSize(files: readonly ArchiveFile[], packedBytes: number): string[] {
  const unpacked = files.reduce((sum, { content }) => sum + content.length, 0);
  const over = (what: string, is: number, limit: number): string[] =>
    is > limit ? [`${what}: ${is}, over the budget of ${limit}`] : [];
  return [
    ...over("bytes packed", packedBytes, BUDGET.packed),
    ...over("bytes unpacked", unpacked, BUDGET.unpacked),
    ...over("files", files.length, BUDGET.files),
    ...files.flatMap(({ path, content }) => over(`bytes of ${path}`, content.length, BUDGET.oneFile)),
  ];
}
