/** The house keeps its shape: who may import whom (AGENTS.md), and what no file may hold. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { describe, test } from "node:test";

const SRC = resolve("src");

const ROOMS: Readonly<Record<string, readonly string[]>> = {
  core: [],
  policy: ["core"],
  redaction: ["core"],
  report: ["core"],
  platform: ["core"],
  store: ["core", "redaction", "platform"],
  worker: ["core", "redaction", "platform"],
  decision: ["core", "redaction", "platform"],
  verifier: ["core", "redaction", "platform"],
  control: ["core", "redaction", "platform"],
  notify: ["core", "redaction", "platform"],
  supervisor: [
    "core",
    "policy",
    "redaction",
    "report",
    "platform",
    "store",
    "worker",
    "decision",
    "verifier",
    "control",
    "notify",
  ],
  extension: [
    "core",
    "policy",
    "redaction",
    "report",
    "platform",
    "store",
    "worker",
    "decision",
    "verifier",
    "control",
    "notify",
    "supervisor",
  ],
  cli: [
    "core",
    "policy",
    "redaction",
    "report",
    "platform",
    "store",
    "worker",
    "decision",
    "verifier",
    "control",
    "notify",
    "supervisor",
  ],
};

/** Rooms that may touch neither the disk nor processes, the network or the clock. */
const PURE = new Set(["core", "policy", "redaction", "report"]);
/** Built-in modules without an outside: hashing and bytes. */
const PURE_BUILTINS = new Set(["node:crypto", "node:buffer", "node:string_decoder", "node:util"]);

interface Import {
  file: string;
  specifier: string;
  typeOnly: boolean;
}

const files = readdirSync(SRC, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && entry.name.endsWith(".ts"))
  .map((entry) => join(entry.parentPath, entry.name));

const IMPORT =
  /^(?:import|export)\s+(type\s+)?[^;'"]*?from\s+["']([^"']+)["']|^import\s+["']([^"']+)["']|\bimport\(\s*["']([^"']+)["']/gm;

const imports: Import[] = files.flatMap((file) =>
  [...readFileSync(file, "utf8").matchAll(IMPORT)].map((match) => ({
    file,
    specifier: match[2] ?? match[3] ?? match[4] ?? "",
    typeOnly: match[1] !== undefined,
  })),
);

/** The code of a file without its comments, roughly: enough to look for calls. */
function codeOf(file: string): string {
  return readFileSync(file, "utf8").replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, "");
}

function roomOf(path: string): string {
  return relative(SRC, path).split("/")[0] ?? "";
}

function complaints(judge: (one: Import) => string | false): string[] {
  return imports.flatMap((one) => {
    const why = judge(one);
    return why === false ? [] : [`${relative(SRC, one.file)} imports ${one.specifier}: ${why}`];
  });
}

describe("the house", () => {
  test("has no room that the table does not know", () => {
    const rooms = new Set(files.map(roomOf).filter((room) => room !== "index.ts"));
    assert.deepEqual(
      [...rooms].filter((room) => !(room in ROOMS)),
      [],
    );
    assert.ok(imports.length > 100, "the test reads no imports");
  });

  test("imports only downwards", () => {
    const bad = complaints(({ file, specifier }) => {
      if (!specifier.startsWith(".")) return false;
      const from = roomOf(file);
      const to = roomOf(resolve(dirname(file), specifier));
      if (from === "index.ts") return to === "extension" ? false : "index.ts only registers";
      return from === to || ROOMS[from]?.includes(to) === true ? false : `${from} may not import ${to}`;
    });
    assert.deepEqual(bad, []);
  });

  test("keeps pure rooms pure", () => {
    const bad = complaints(({ file, specifier, typeOnly }) => {
      if (!PURE.has(roomOf(file)) || typeOnly || !specifier.startsWith("node:")) return false;
      return PURE_BUILTINS.has(specifier) ? false : "an outside";
    });
    assert.deepEqual(bad, []);
    const clocks = files
      .filter((file) => PURE.has(roomOf(file)))
      .filter((file) =>
        /\bDate\.now\(|\bnew Date\(\)|\bperformance\.now\(|\bsetTimeout\(|\bprocess\.[a-z]|\bMath\.random\(/.test(
          codeOf(file),
        ),
      );
    assert.deepEqual(
      clocks.map((file) => relative(SRC, file)),
      [],
    );
  });

  test("touches Pi at run time in extension/sdk.ts alone", () => {
    const bad = complaints(({ file, specifier, typeOnly }) => {
      if (!/^@(mariozechner|earendil-works)\//.test(specifier)) return false;
      if (specifier.startsWith("@earendil-works/")) return "Pi is imported by its first name, which both lines know";
      return typeOnly || relative(SRC, file) === "extension/sdk.ts" ? false : "only extension/sdk.ts may";
    });
    assert.deepEqual(bad, []);
  });

  test("lets the control CLI reach only control, platform, redaction (reasons hold no secrets) and the schema-free core", () => {
    const seen = new Set<string>();
    const walk = (file: string): void => {
      if (seen.has(file)) return;
      seen.add(file);
      for (const one of imports) {
        if (one.file !== file || one.typeOnly || !one.specifier.startsWith(".")) continue;
        walk(resolve(dirname(file), one.specifier));
      }
    };
    const entries = files.filter((file) => relative(SRC, file).startsWith("cli/control"));
    entries.forEach(walk);
    const rooms = [...seen]
      .map((file) => relative(SRC, file))
      .filter((file) => !/^(cli|control|platform|redaction|core)\//.test(file) || file.startsWith("core/schema/"));
    assert.deepEqual(rooms, []);
  });

  test("names relative files with their ending, and has no default export but the factory's", () => {
    const bad = complaints(({ specifier }) =>
      specifier.startsWith(".") && !/\.(ts|json)$/.test(specifier) ? "no ending" : false,
    );
    assert.deepEqual(bad, []);
    const defaults = files
      .filter((file) => /^export default\b/m.test(readFileSync(file, "utf8")))
      .map((file) => relative(SRC, file));
    assert.deepEqual(
      defaults.filter((file) => file !== "index.ts"),
      [],
    );
  });
});
