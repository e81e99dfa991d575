/** docs/supervisor.schema.json is the table of settings, and says yes and no as the loader does. */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { describe, test } from "node:test";
import { Check } from "typebox/value";
import { loadConfig } from "../../src/store/config.ts";
import { configSchema } from "../../src/store/config-schema.ts";

const FILE = resolve(import.meta.dirname, "../../docs/supervisor.schema.json");

test("docs/supervisor.schema.json is what the settings table says", () => {
  const wanted = `${JSON.stringify(configSchema(), null, 2)}\n`;
  /* A wanted change: UPDATE_GOLDEN=1 writes the file anew. */
  if (process.env.UPDATE_GOLDEN === "1") writeFileSync(FILE, wanted);
  assert.equal(readFileSync(FILE, "utf8"), wanted);
});

describe("the schema and the loader agree on", () => {
  const table: [object, boolean][] = [
    [{}, true],
    [{ mode: "auto", maxRounds: 2, patience: "10m" }, true],
    [{ verify: { in: "clean", runs: 2, commands: ["npm test"] } }, true],
    [{ policy: { rules: [{ verdict: "review", tool: "Bash", argv: ["npm", "publish"] }] } }, true],
    [{ webhook: { url: "https://example.invalid/x", completed: true } }, true],
    [{ mode: "automatic" }, false],
    [{ maxRounds: 0 }, false],
    [{ maxRounds: "3" }, false],
    [{ patience: 600 }, false],
    [{ patience: "10 minutes" }, false],
    [{ unknown: 1 }, false],
    [{ verify: { on: "clean" } }, false],
    [{ workerEnv: ["PI_CLAUDE_SUPERVISOR_MODE"] }, false],
    [{ policy: { rules: [{ verdict: "maybe", tool: "Bash" }] } }, false],
    [{ webhook: { url: "ftp://example.invalid" } }, false],
    [{ controlId: "x" }, false],
  ];
  for (const [content, good] of table)
    test(`${JSON.stringify(content)}: ${good ? "good" : "bad"}`, (t) => {
      const agentDir = mkdtempSync(join(tmpdir(), "pcs-schema-"));
      t.after(() => rmSync(agentDir, { recursive: true, force: true }));
      writeFileSync(join(agentDir, "supervisor.json"), JSON.stringify(content), { mode: 0o600 });
      assert.equal(loadConfig({ env: {}, flags: {}, agentDir }).ok, good);
      assert.equal(Check(configSchema() as never, content), good);
    });
});
