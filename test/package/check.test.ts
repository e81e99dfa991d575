/** The rules of a package: one sound archive, and a table of broken ones that each break exactly what they say. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, test } from "node:test";
import type { ArchiveFile } from "../../scripts/package/archive.ts";
import { BUDGET, checkPackage } from "../../scripts/package/check.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const MANIFEST = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as Record<string, unknown>;

type Files = Record<string, string | { content: string; mode?: number; kind?: ArchiveFile["kind"] }>;

/** The least that passes: this project's own manifest and one line of each file that has to be there. */
function sound(): Files {
  return {
    "package.json": JSON.stringify(MANIFEST),
    "README.md": "# x\n",
    "README.zh-CN.md": "# x\n",
    "CHANGELOG.md": `# Changelog\n\n## [${String(MANIFEST["version"])}] - 2030-01-01\n`,
    LICENSE: "MIT\n",
    "sbom.cdx.json": "{}\n",
    "src/index.ts": 'import { x } from "./x.ts";\nimport { execa } from "execa";\nexport const y = [x, execa];\n',
    "src/x.ts":
      'import { y } from "node:fs";\nimport type { Z } from "@mariozechner/pi-ai";\nexport const x = (z: Z) => [y, z, import("unbash")];\n',
    "src/platform/containment/launcher.sh": { content: "#!/bin/sh\n", mode: 0o755 },
    "src/platform/containment/guardian.sh": { content: "#!/bin/sh\n", mode: 0o755 },
    "dist/cli/control.js": { content: "#!/usr/bin/env node\n", mode: 0o755 },
    "docs/architecture.md": "# x\n",
    "docs/commands.md": "# x\n",
    "docs/security.md": "# x\n",
    "docs/emergency-stop.md": "# x\n",
  };
}

function problems(files: Files, packedBytes = 1_000): string[] {
  return checkPackage(
    Object.entries(files).map(([path, file]) => {
      const given = typeof file === "string" ? { content: file } : file;
      return { path, mode: 0o644, kind: "file" as const, ...given, content: Buffer.from(given.content) };
    }),
    packedBytes,
  );
}

/** The sound package with other fields in its manifest; undefined takes one out. */
function withManifest(change: Record<string, unknown>): Files {
  return { ...sound(), "package.json": JSON.stringify({ ...MANIFEST, ...change }) };
}

function without(path: string): Files {
  return Object.fromEntries(Object.entries(sound()).filter(([name]) => name !== path));
}

function withFile(path: string, file: Files[string] = "x\n"): Files {
  return { ...sound(), [path]: file };
}

const peers = MANIFEST["peerDependencies"] as Record<string, string>;
const token = (): string => `ghp_${randomBytes(40).toString("base64").replace(/[+/=]/g, "").slice(0, 36)}`;

/** [what is wrong, the package, what is said of it]. */
const BROKEN: readonly (readonly [string, Files, RegExp])[] = [
  ["no manifest", withFile("package.json", "{"), /no JSON object/],
  ["another name", withManifest({ name: "pi-supervisor" }), /name is not/],
  ["a version that is none", withManifest({ version: "1.0" }), /version is not X\.Y\.Z/],
  ["a version that the changelog lacks", withManifest({ version: "9.9.9" }), /no heading for 9\.9\.9/],
  ["another licence", withManifest({ license: "GPL-3.0" }), /license is not MIT/],
  ["CommonJS", withManifest({ type: "commonjs" }), /type is not/],
  ["private", withManifest({ private: true }), /private/],
  ["no description", withManifest({ description: "" }), /no description/],
  ["another engine", withManifest({ engines: { node: ">=18" } }), /engines\.node/],
  ["no gallery keyword", withManifest({ keywords: [] }), /pi-package/],
  ["no extension", withManifest({ pi: {} }), /pi\.extensions is empty/],
  [
    "an extension that is not there",
    withManifest({ pi: { extensions: ["./src/other.ts"] } }),
    /other\.ts, which is not/,
  ],
  ["a compiled extension", withManifest({ pi: { extensions: ["./dist/cli/control.js"] } }), /compiled entry/],
  ["no command", withManifest({ bin: {} }), /no pi-claude-supervisor-control/],
  ["a command that is not there", without("dist/cli/control.js"), /bin pi-claude-supervisor-control is not there/],
  [
    "a command that cannot be run",
    withFile("dist/cli/control.js", { content: "#!/usr/bin/env node\n", mode: 0o644 }),
    /not executable/,
  ],
  ["a command without its first line", withFile("dist/cli/control.js", { content: "x\n", mode: 0o755 }), /node's line/],
  ...["preinstall", "install", "postinstall", "prepare"].map(
    (name) => [`a ${name} script`, withManifest({ scripts: { [name]: "node x" } }), /run at installation/] as const,
  ),
  ["a range as dependency", withManifest({ dependencies: { execa: "^9.6.1" } }), /not one exact version/],
  ["Pi as dependency", withManifest({ dependencies: { "@mariozechner/pi-tui": "0.73.1" } }), /the host brings it/],
  ["typebox as dependency", withManifest({ dependencies: { typebox: "1.4.3" } }), /the host brings it/],
  ["Claude as dependency", withManifest({ dependencies: { "@anthropic-ai/claude-code": "2.1.268" } }), /brings it/],
  ["a peer too few", withManifest({ peerDependencies: { typebox: "*" } }), /the peers are not/],
  ["a peer with a range", withManifest({ peerDependencies: { ...peers, typebox: "^1.0.0" } }), /not "\*"/],
  ["a peer that is not optional", withManifest({ peerDependenciesMeta: {} }), /not optional/],
  ["bundled dependencies", withManifest({ bundleDependencies: ["execa"] }), /bundles/],
  ["optional dependencies", withManifest({ optionalDependencies: { x: "1.0.0" } }), /optional dependencies/],
  ...Object.keys(sound()).map(
    (path) =>
      [
        `${path} missing`,
        without(path),
        new RegExp(`${path.slice(path.lastIndexOf("/") + 1).replaceAll(".", "\\.")}.* (?:missing|not there)`),
      ] as const,
  ),
  ...[
    ".env",
    ".npmrc",
    "test/x.test.ts",
    "scripts/build.ts",
    "node_modules/execa/index.js",
    "src/x.js.map",
    "src/events.jsonl",
    "src/.hidden/x.log",
    "docs/notes.txt",
    "dist/other.js",
    "tsconfig.json",
    "x.tgz",
  ].map((path) => [`the file ${path}`, withFile(path), /does not belong/] as const),
  ["a path out of it", withFile("src/../../x.ts"), /leads out/],
  ["a link", withFile("src/link.ts", { content: "", kind: "link" }), /no regular file/],
  ["a file that others can write", withFile("src/w.ts", { content: "", mode: 0o666 }), /writable by others/],
  ["an import of what is not there", withFile("src/z.ts", 'export * from "./gone.ts";\n'), /gone\.ts, which is not/],
  ["an import of what nobody installs", withFile("src/z.ts", 'import y from "left-pad";\n'), /nobody installs/],
  ["a late import of it", withFile("src/z.ts", 'const y = await import("left-pad/x");\n'), /nobody installs/],
  ["a token", withFile("docs/x.md", `Use ${token()}.\n`), /looks like a secret/],
  ["a token where forms are shown", withFile("docs/redaction.md", `Use ${token()}.\n`), /looks like a secret/],
  ["a token in the README", withFile("README.md", `Use ${token()}.\n`), /looks like a secret/],
  ["a private key", withFile("src/k.ts", pem()), /looks like a secret/],
  [
    "a password in the sources",
    withFile("src/k.ts", `const db = { password: "${randomBytes(9).toString("hex")}" };\n`),
    /secret/,
  ],
  ["a path of a machine", withFile("docs/x.md", "see /home/builder7/project/x\n"), /somebody's machine/],
  ["a registry's address", withFile("docs/x.json", '{ "resolved": "https://r.example/x.tgz" }'), /registry/],
  ["a source map's name", withFile("src/m.ts", "//# sourceMappingURL=x\n"), /source map/],
  ["an open conflict", withFile("src/m.ts", "<<<<<<< HEAD\n"), /conflict/],
  ["a binary file", withFile("docs/x.md", "a\0b"), /binary/],
  ["too large a file", withFile("src/big.ts", "x".repeat(BUDGET.oneFile + 1)), /over the budget/],
  [
    "too many files",
    Object.assign(sound(), Object.fromEntries(Array.from({ length: BUDGET.files }, (_, at) => [`src/f${at}.ts`, ""]))),
    /^files: .*over the budget/,
  ],
];

function pem(): string {
  return `${["-----BEGIN", "PRIVATE", "KEY-----"].join(" ")}\n${randomBytes(96).toString("base64")}\n${["-----END", "PRIVATE", "KEY-----"].join(" ")}\n`;
}

describe("checkPackage", () => {
  test("has nothing to say about a sound package", () => {
    assert.deepEqual(problems(sound()), []);
  });

  test("lets documents speak of secrets", () => {
    assert.deepEqual(problems(withFile("docs/x.md", "a token as the secret `NPM_TOKEN`, in the environment\n")), []);
  });

  for (const [what, files, said] of BROKEN) {
    test(`finds ${what}`, () => {
      const found = problems(files);
      assert.ok(
        found.some((problem) => said.test(problem)),
        `${said} in ${JSON.stringify(found)}`,
      );
    });
  }

  test("finds an archive that is too large", () => {
    assert.match(problems(sound(), BUDGET.packed + 1).join(), /bytes packed/);
    const large = Array.from({ length: 10 }, (_, at) => [`src/f${at}.ts`, "x".repeat(BUDGET.oneFile - 1)]);
    assert.match(problems({ ...sound(), ...Object.fromEntries(large) }).join(), /bytes unpacked/);
  });
});
