/** The documents say what the code does: links, commands, flags, variables, events, states, dependencies, failure codes. */
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { describe, test } from "node:test";
import { eventRecordSchema, eventSchemas } from "../src/core/schema/events.ts";
import { commands } from "../src/extension/commands/index.ts";
import { commonFlags, isCommand, specOf } from "../src/extension/parse/spec.ts";
import { SETTING_NAMES, SETTINGS, type SettingName, VARIABLE_ALIASES } from "../src/store/config-settings.ts";
import { STATE_DIR_VARIABLE } from "../src/store/layout.ts";

const ROOT = resolve(import.meta.dirname, "..");
const READMES = ["README.md", "README.zh-CN.md"];
const PAGES = readdirSync(join(ROOT, "docs"))
  .filter((name) => name.endsWith(".md"))
  .map((name) => `docs/${name}`);
const ALL = [...READMES, "CHANGELOG.md", "AGENTS.md", ...PAGES];

const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");
const SOURCES = readdirSync(join(ROOT, "src"), { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) => join(entry.parentPath, entry.name))
  .map((path) => ({ path: relative(join(ROOT, "src"), path), text: readFileSync(path, "utf8") }));
const SOURCE = SOURCES.map(({ text }) => text).join("\n");

/** The texts of fenced blocks, without their fences. */
function codeBlocks(text: string): string[] {
  return [...text.matchAll(/^```[a-z]*\n([\s\S]*?)^```$/gm)].map((match) => match[1] ?? "");
}

function withoutBlocks(text: string): string {
  return text.replace(/^```[a-z]*\n[\s\S]*?^```$/gm, "");
}

/** The texts of inline code. In a table a pipe is written `\|`. */
function codeSpans(text: string): string[] {
  return [...withoutBlocks(text).matchAll(/`([^`\n]+)`/g)].map((match) => (match[1] ?? "").replaceAll("\\|", "|"));
}

/** Everything that a page shows as code: each span, each line of a block. */
function codeLines(text: string): string[] {
  return [...codeSpans(text), ...codeBlocks(text).flatMap((block) => block.split("\n"))];
}

function headings(text: string): { level: number; title: string }[] {
  return [...withoutBlocks(text).matchAll(/^(#{1,6}) (.+)$/gm)].map(([, marks = "", title = ""]) => ({
    level: marks.length,
    title,
  }));
}

/** The part of a page below this heading of the second level; "" when there is none. */
function section(text: string, title: string): string {
  return text.split(/^## /m).find((part) => part.startsWith(`${title}\n`)) ?? "";
}

/** The cells of the body rows of every table in a text. */
function tableRows(text: string): string[][] {
  return [...withoutBlocks(text).matchAll(/^\|(.+)\|$/gm)]
    .map((match) => (match[1] ?? "").split(/(?<!\\)\|/).map((cell) => cell.trim()))
    .filter((cells) => !cells.every((cell) => /^:?-+:?$/.test(cell)));
}

/** How GitHub names the anchor of a heading. */
function anchorOf(title: string): string {
  return title
    .toLowerCase()
    .replace(/[^\p{Letter}\p{Number}\s_-]/gu, "")
    .replaceAll(" ", "-");
}

function links(text: string): string[] {
  return [...withoutBlocks(text).matchAll(/\[[^\]\n]+\]\(([^)\s]+)\)/g)].map((match) => match[1] ?? "");
}

function brokenLinks(page: string): string[] {
  return links(read(page)).filter((link) => {
    if (/^[a-z]+:/.test(link)) return false;
    const [path = "", anchor] = link.split("#");
    const target = path === "" ? join(ROOT, page) : resolve(ROOT, dirname(page), path);
    if (!existsSync(target)) return true;
    if (anchor === undefined) return false;
    return !headings(readFileSync(target, "utf8")).some(({ title }) => anchorOf(title) === decodeURIComponent(anchor));
  });
}

/** What each page gets wrong, as `page: what`. */
function complaints(pages: readonly string[], judge: (text: string, page: string) => readonly string[]): string[] {
  return pages.flatMap((page) => judge(read(page), page).map((what) => `${page}: ${what}`));
}

describe("links", () => {
  test("inside the repository lead to a file, and to a heading where they name one", () => {
    assert.deepEqual(
      complaints(ALL, (_text, page) => brokenLinks(page)),
      [],
    );
    assert.ok(links(read("README.md")).length > 15, "the test reads no links");
  });

  test("and paths of the sources that are written as code exist", () => {
    const missing = complaints(ALL, (text) =>
      codeSpans(text).filter(
        (span) => /^(?:src|test|scripts|docs)\/[\w./-]+$/.test(span) && !existsSync(join(ROOT, span)),
      ),
    );
    assert.deepEqual(missing, []);
  });
});

describe("the README", () => {
  test("has the two lines for a fresh machine, each as one block", () => {
    for (const page of READMES) {
      const blocks = codeBlocks(read(page));
      for (const line of ["npm ci && npm run demo\n", "npm ci && npm test\n"])
        assert.ok(blocks.includes(line), `${page} has no block "${line.trim()}"`);
    }
  });

  test("says the same in both languages: headings, code, commands, variables, links", () => {
    const [english, chinese] = READMES.map((page) => {
      const text = read(page);
      return {
        headings: headings(text).map(({ level }) => level),
        blocks: codeBlocks(text),
        rows: tableRows(text).map((cells) => cells.length),
        spans: codeSpans(text).sort(),
        links: links(text)
          .filter((link) => !link.startsWith("#") && !link.startsWith("README"))
          .sort(),
      };
    });
    assert.deepEqual(chinese, english);
  });

  test("lists every command in its table, and no other", () => {
    const wanted = Object.keys(commands).sort();
    for (const page of READMES) {
      const named = tableRows(read(page)).flatMap(([first = ""]) => /^`\/supervise ([a-z-]+)/.exec(first)?.[1] ?? []);
      assert.deepEqual([...new Set(named)].sort(), wanted, page);
    }
  });

  test("names every variable that is read at present", () => {
    const table = tableRows(section(read("README.md"), "Settings")).flatMap(([first = ""]) =>
      first.replaceAll("`", ""),
    );
    assert.deepEqual(
      variablesInUse().filter((name) => !table.includes(name)),
      [],
    );
  });
});

/** Variables of the settings that the supervisor reads somewhere, and the one that places the state folder. */
function variablesInUse(): string[] {
  const code = SOURCES.filter(({ path }) => !path.startsWith("store/"))
    .map(({ text }) => text)
    .join("\n");
  const taken = [...code.matchAll(/\{([^{}]*)\} = (?:\w+\.)*settings\b/g)].flatMap(
    (match) => match[1]?.match(/\w+/g) ?? [],
  );
  const used = SETTING_NAMES.filter(
    (name) => taken.includes(name) || code.includes(`settings.${name}`) || code.includes(`settings["${name}"]`),
  );
  const variables = used.flatMap((name) => variableOf(name) ?? []);
  assert.ok(variables.length >= 5, "the test finds no variables in use");
  return [...variables, STATE_DIR_VARIABLE];
}

function variableOf(name: SettingName): string | undefined {
  const spec = SETTINGS[name];
  return "variable" in spec && typeof spec.variable === "string" ? spec.variable : undefined;
}

describe("a command that a page names", () => {
  test("exists", () => {
    const known = new Set(Object.keys(commands));
    const unknown = complaints(ALL, (text) =>
      [...text.matchAll(/\/supervise ([a-z][a-z-]*)/g)]
        .map((match) => match[1] ?? "")
        .filter((word) => !known.has(word)),
    );
    assert.deepEqual(unknown, []);
  });

  test("has the flags that are written behind it", () => {
    const unknown = complaints(ALL, (text, page) =>
      codeLines(text).flatMap((line) => {
        const words = page === "docs/commands.md" ? line.trim().replace(/^(?!\/)/, "/supervise ") : line.trim();
        const [, name = "", rest = ""] = /^\/supervise ([a-z-]+)(.*)$/.exec(words) ?? [];
        if (!isCommand(name)) return [];
        const flags = { ...specOf(name).flags, ...commonFlags };
        const written = [...rest.replace(/"[^"]*"/g, '""').matchAll(/(?<=^|[\s[])--([a-z-]+)/g)];
        return written.map((match) => match[1] ?? "").flatMap((flag) => (flag in flags ? [] : [`${name} --${flag}`]));
      }),
    );
    assert.deepEqual(unknown, []);
  });

  test("has a flag of that name where a page for users writes the flag alone", () => {
    const flags = new Set(
      Object.keys(commands).flatMap((name) => (isCommand(name) ? Object.keys(specOf(name).flags) : [])),
    );
    for (const flag of Object.keys(commonFlags)) flags.add(flag);
    const pages = [
      ...READMES,
      ...["commands", "configuration", "recovery", "security", "troubleshooting", "verification"].map(
        (name) => `docs/${name}.md`,
      ),
    ];
    const unknown = complaints(pages, (text) =>
      codeSpans(text).flatMap((span) => {
        const flag = /^--([a-z-]+)(?=$|[\s=])/.exec(span)?.[1];
        return flag === undefined || flag === "flag" || flags.has(flag) ? [] : [`--${flag}`];
      }),
    );
    assert.deepEqual(unknown, []);
  });

  test("has each of its flags in docs/commands.md", () => {
    const page = read("docs/commands.md");
    const missing = Object.keys(commands).flatMap((name) =>
      isCommand(name)
        ? Object.keys(specOf(name).flags)
            .filter((flag) => !page.includes(`--${flag}`))
            .map((flag) => `${name} --${flag}`)
        : [],
    );
    assert.deepEqual(missing, []);
  });

  test("stands in docs/commands.md, each of them", () => {
    const spans = codeSpans(read("docs/commands.md"));
    const missing = Object.keys(commands).filter(
      (name) => !spans.some((span) => span.replace(/^\/supervise /, "").split(" ")[0] === name),
    );
    assert.deepEqual(missing, []);
  });
});

test("docs/configuration.md has every key of supervisor.json, and no other", () => {
  const keys = SETTING_NAMES.filter((name) => !("environmentOnly" in SETTINGS[name]));
  const cells = tableRows(section(read("docs/configuration.md"), "Files")).slice(1);
  const documented = cells.flatMap(([first = ""]) => [...first.matchAll(/`([\w.]+)`/g)].map((match) => match[1] ?? ""));
  assert.deepEqual(documented.sort(), [...keys].sort());
});

describe("the control command", () => {
  const source = read("src/cli/control/arguments.ts");
  const page = read("docs/emergency-stop.md");
  const known = new Set([...source.matchAll(/--[a-z][a-z-]+/g)].map(([flag]) => flag));

  test("has its verbs and flags in docs/emergency-stop.md", () => {
    const verbs = [
      "status",
      "stop",
      "pause",
      "resume",
      "drill",
      "shared-folder",
      "shared-stop",
      "shared-page",
      "shared-lift",
    ];
    assert.deepEqual(
      verbs.filter((verb) => !source.includes(verb)),
      [],
      "the test knows other verbs than the command",
    );
    assert.ok(known.size > 6, "the test finds no flags");
    const missing = [...verbs, ...known].filter((word) => word !== "--help" && !page.includes(word));
    assert.deepEqual(missing, []);
  });

  test("has the flags that a page writes behind it", () => {
    const unknown = complaints(ALL, (text) =>
      codeLines(text)
        .filter((line) => line.includes("pi-claude-supervisor-control"))
        .flatMap((line) => line.replace(/"[^"]*"/g, "").match(/--[a-z][a-z-]+/g) ?? [])
        .filter((flag) => !known.has(flag)),
    );
    assert.deepEqual(unknown, []);
  });
});

test("a variable that a page names exists in the sources", () => {
  const settings = SETTING_NAMES.flatMap((name) => variableOf(name) ?? []);
  const literal = SOURCE.match(/PI_CLAUDE_SUPERVISOR_[A-Z]+(?:_[A-Z]+)*/g) ?? [];
  const known = new Set<string>([...settings, ...literal, ...Object.keys(VARIABLE_ALIASES), ...variablesInUse()]);
  const unknown = complaints(ALL, (text) =>
    (text.match(/PI_CLAUDE_SUPERVISOR_[A-Z]+(?:_[A-Z]+)*/g) ?? []).filter((name) => !known.has(name)),
  );
  assert.deepEqual(unknown, []);
});

describe("docs/events.md", () => {
  const names = (cell: string) => [...cell.matchAll(/`([a-zA-Z]+\??)`/g)].map((match) => match[1] ?? "");
  const rows = tableRows(read("docs/events.md"));

  test("has every type of the schema with its fields, in the schema's order, and no other", () => {
    const typed = rows.filter((cells) => cells.length === 3 && /^`[a-z.-]+`$/.test(cells[0] ?? ""));
    const documented = new Map(typed.map(([type = "", , fields = ""]) => [type.replaceAll("`", ""), names(fields)]));
    assert.equal(documented.size, typed.length, "a type stands there twice");
    const schema = new Map(Object.entries(eventSchemas).map(([type, shape]) => [type, fieldsOf(shape)]));
    const gone = [...documented.keys()].filter((type) => !schema.has(type));
    const wrong = [...schema].filter(([type, fields]) => fields.join() !== documented.get(type)?.join());
    const rowsWanted = wrong.map(
      ([type, fields]) => `| \`${type}\` | … | ${fields.map((name) => `\`${name}\``).join(" ")} |`,
    );
    assert.deepEqual({ gone, rowsWanted }, { gone: [], rowsWanted: [] });
  });

  test("has the fields of a record", () => {
    const fields = rows.filter((cells) => cells.length === 2).flatMap(([first = ""]) => names(first));
    assert.deepEqual(fields.sort(), fieldsOf(eventRecordSchema).sort());
  });
});

/** `name`, or `name?` for an optional one. */
function fieldsOf(schema: { properties: object; required?: readonly string[] | undefined }): string[] {
  return Object.keys(schema.properties).map((name) => (schema.required?.includes(name) ? name : `${name}?`));
}

describe("docs/architecture.md", () => {
  const page = read("docs/architecture.md");

  test("has the small machines in the order in which an event passes them", () => {
    const list = /const MACHINES = \[([^\]]+)\]/.exec(read("src/core/machine/step.ts"))?.[1] ?? "";
    const order = list.match(/[a-z]+/g) ?? [];
    assert.ok(order.length > 5, "the test finds no machines");
    assert.ok(codeBlocks(page).includes(`${order.join(" → ")}\n`), order.join(" → "));
    const described = tableRows(page).flatMap(([first = ""]) => /^`([a-z]+)`$/.exec(first)?.[1] ?? []);
    assert.deepEqual(
      order.filter((name) => !described.includes(name)),
      [],
    );
  });

  test("has the state names that people see", () => {
    const union = /export type StateName =([^;]+);/.exec(read("src/core/machine/project.ts"))?.[1] ?? "";
    const states = (union.match(/"[a-z_]+"/g) ?? []).map((name) => name.replaceAll('"', ""));
    const part = page.slice(page.indexOf("### States"), page.indexOf("### The ten invariants"));
    const described = tableRows(part).flatMap(([first = ""]) => first.match(/[a-z_]+(?=`)/g) ?? []);
    assert.deepEqual(described.sort(), states.sort());
  });

  test("has ten invariants, and the tests that it names for them exist", () => {
    const part = page.slice(page.indexOf("### The ten invariants"), page.indexOf("## One pass"));
    const numbers = tableRows(part).flatMap(([first = ""]) => (/^\d+$/.test(first) ? [Number(first)] : []));
    assert.deepEqual(numbers, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    const proofs = [...part.matchAll(/`(test\/[\w/.-]+\.ts)` \(\*([^*]+)\*\)/g)];
    assert.ok(proofs.length > 5, "the test finds no proofs");
    const missing = proofs.filter(([, file = "", name = ""]) => !read(file).includes(name.replace(/ …$/, "")));
    assert.deepEqual(
      missing.map(([proof]) => proof),
      [],
    );
  });
});

test("docs/dependencies.md has every dependency with the version of package.json, and no other", () => {
  const manifest = JSON.parse(read("package.json")) as Record<string, Record<string, string>>;
  const declared = ["dependencies", "devDependencies", "peerDependencies"].flatMap((group) =>
    Object.entries(manifest[group] ?? {}).map(([name, version]) => `${name} ${version}`),
  );
  const documented = tableRows(read("docs/dependencies.md")).flatMap(([first = "", version = ""]) =>
    [...first.matchAll(/`([^`]+)`/g)].map((match) => `${match[1]} ${version.replaceAll("`", "")}`),
  );
  assert.deepEqual(documented.sort(), declared.sort());
});

test("a script that a page runs by npm exists, and every script of package.json stands in a page", () => {
  const { scripts } = JSON.parse(read("package.json")) as { scripts: Record<string, string> };
  const named = (page: string): string[] =>
    codeLines(read(page)).flatMap((line) =>
      [...line.matchAll(/\bnpm run ([a-z][\w:-]*)/g)].map((match) => match[1] ?? ""),
    );
  const pages = [...ALL.filter((page) => page !== "CHANGELOG.md")];
  const unknown = complaints(pages, (_text, page) => named(page).filter((name) => !(name in scripts)));
  assert.deepEqual(unknown, []);
  // Said as a list in docs/spikes.md: `spike:transport`, `spike:permissions` and so on.
  const said = pages.map(read).join("\n");
  assert.deepEqual(
    Object.keys(scripts).filter((name) => name !== "test" && !said.includes(name)),
    [],
  );
});

test("a test that a page runs exists", () => {
  const missing = complaints(ALL, (text) =>
    codeLines(text)
      .flatMap((line) => [...line.matchAll(/\btest\/[\w/.-]+\.ts\b/g)].map(([path]) => path))
      .filter((path) => !path.includes("<") && !existsSync(join(ROOT, path))),
  );
  assert.deepEqual(missing, []);
});

test("docs/troubleshooting.md names only failure codes that the sources have", () => {
  const codes = tableRows(read("docs/troubleshooting.md"))
    .flatMap(([first = ""]) => [...first.matchAll(/`([a-z][a-z_-]*)/g)])
    .map((match) => match[1] ?? "");
  assert.ok(codes.length > 80, "the test reads no codes");
  const unknown = codes.filter((code) => !SOURCE.includes(`"${code}"`) && !SOURCE.includes(`\`${code}`));
  assert.deepEqual(unknown, []);
});

test("every page of docs begins with what its reader can do afterwards", () => {
  const bad = PAGES.filter((page) => !/^# .+\n\nAfter (?:reading )?this page you (?:can|know)\b/.test(read(page)));
  assert.deepEqual(bad, []);
});

test("the changelog begins with the version of package.json, in headings that Pi 1.6.0 reads", () => {
  const { version } = JSON.parse(read("package.json")) as { version: string };
  const versions = headings(read("CHANGELOG.md")).filter(({ level }) => level === 2);
  assert.deepEqual(
    versions.filter(({ title }) => !/^\[?\d+\.\d+\.\d+(?:\]|$| )/.test(title)),
    [],
  );
  assert.match(versions[0]?.title ?? "", new RegExp(`^\\[?${version.replaceAll(".", "\\.")}(?:\\]|$| )`));
});
