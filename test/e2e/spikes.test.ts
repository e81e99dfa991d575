/** The spikes as a person runs them: what they print, what they write down, what they refuse, what they leave. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { type Evidence, placesWithSecret, TOPICS, topicsOf } from "../../scripts/spike/evidence.ts";
import { COMMAND, PROMPT } from "../../scripts/spike/room.ts";
import { CLAUDE_VERSION, claudeBinary, claudeEnv, workerEnvNames } from "../support/claude.ts";
import { bash, text } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { PACKAGE_ROOT } from "../support/pi-setup.ts";
import { processesWithEnvironment } from "../support/processes.ts";
import { createLab, type Lab } from "../support/workspace.ts";

type Name = "transport" | "permissions" | "signals" | "automation";

interface Ran {
  code: number;
  stdout: string;
  stderr: string;
}

/** Runs `scripts/spike-<name>.ts` with this environment alone. */
function spike(name: Name, args: readonly string[], env: Readonly<Record<string, string>>): Promise<Ran> {
  const words = ["--import", "tsx", join("scripts", `spike-${name}.ts`), ...args];
  return new Promise((resolve) => {
    execFile(process.execPath, words, { cwd: PACKAGE_ROOT, env, timeout: 150_000 }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : typeof error.code === "number" ? error.code : -1, stdout, stderr });
    });
  });
}

async function evidenceOf(path: string): Promise<Evidence> {
  assert.equal((await stat(path)).mode & 0o777, 0o600);
  return JSON.parse(await readFile(path, "utf8")) as Evidence;
}

/** What may stand in no output: the prompt, the planted value, the key. */
function assertSilent(ran: Ran, lab: Lab, evidence: Evidence): void {
  const everything = [ran.stdout, ran.stderr, JSON.stringify(evidence)].join("\n");
  for (const line of PROMPT.split("\n")) assert.ok(!everything.includes(line), "the prompt is told");
  assert.doesNotMatch(everything, new RegExp(["ghp", "[A-Za-z0-9]{20,}"].join("_")));
  assert.ok(!everything.includes(lab.apiKey), "the key is told");
}

function assertSound(evidence: Evidence, name: Name): void {
  const failed = evidence.checks.filter((check) => !check.ok);
  assert.deepEqual(failed, []);
  assert.deepEqual(evidence.topics, topicsOf(evidence.checks));
  assert.deepEqual([evidence.schema, evidence.spike, evidence.ok], [1, name, true]);
  assert.equal(evidence.claude.version, CLAUDE_VERSION);
  assert.equal(evidence.claude.realPath, claudeBinary());
  assert.match(evidence.claude.package, /^@anthropic-ai\/claude-code.*@2\.1\.268$/);
  assert.notEqual(evidence.claude.license, "unknown");
  assert.equal(evidence.adapter.shell, false);
  assert.ok(evidence.exits.length > 0 && evidence.checks.every((check) => check.ms >= 0));
  assert.deepEqual(evidence.secrets.found, []);
  assert.equal(evidence.secrets.passedThrough, true);
  assert.ok(evidence.secrets.values >= 2);
  assert.equal(evidence.left.processes, 0);
}

/** Neither a temporary folder nor a process of a spike is left. */
async function assertClean(lab: Lab): Promise<void> {
  const folders = await readdir(lab.tmp);
  assert.deepEqual(
    folders.filter((entry) => entry.startsWith("pcs-lab-")),
    [],
  );
  assert.deepEqual(processesWithEnvironment(`TMPDIR=${lab.tmp}`), []);
}

const RUNS: readonly {
  name: Name;
  decision?: "allow" | "deny";
  env?: Readonly<Record<string, string>>;
  topics: readonly string[];
}[] = [
  {
    name: "transport",
    topics: [
      "start-up",
      "prompt-delivery",
      "framing",
      "duplicate-message",
      "timeout",
      "recovery",
      "takeover-and-resume",
      "stop",
    ],
  },
  { name: "permissions", decision: "allow", topics: ["start-up", "permissions", "stop"] },
  { name: "permissions", decision: "deny", topics: ["start-up", "permissions", "stop"] },
  {
    name: "automation",
    env: { SPIKE_AUTOMATION_PERMISSION: "1", SPIKE_AUTOMATION_QUESTION: "1" },
    topics: ["automation"],
  },
  { name: "signals", topics: ["start-up", "recovery", "stop", "crash", "group-cleanup"] },
];

/** First cells of the tables below "The evidence" in docs/spikes.md, as words. */
async function documented(): Promise<string[]> {
  const page = await readFile(join(PACKAGE_ROOT, "docs", "spikes.md"), "utf8");
  const cells = page.slice(page.indexOf("## The evidence")).match(/^\| `[^|]+/gm) ?? [];
  return cells.flatMap((cell) => [...cell.matchAll(/`([a-zA-Z-]+)`/g)].map((match) => match[1] ?? ""));
}

test("together the spikes cover every topic", () => {
  assert.deepEqual([...new Set(RUNS.flatMap(({ topics }) => topics))].sort(), [...TOPICS].sort());
});

describe("against a scripted model", { concurrency: 2 }, () => {
  for (const { name, decision, env: more, topics } of RUNS) {
    test(`spike:${name}${decision ? ` (${decision})` : ""} records evidence that holds`, async (t: TestContext) => {
      const lab = await createLab(t);
      const out = join(lab.root, "evidence.json");
      const env = { ...lab.env, CI: "true", ...more, ...(decision ? { SPIKE_PERMISSION_DECISION: decision } : {}) };
      const ran = await spike(name, ["--scripted", "--out", out], env);
      assert.equal(ran.code, 0, `${ran.stdout}${ran.stderr}`);
      assert.ok(ran.stdout.endsWith(`evidence: ${out}\n`), ran.stdout);
      const evidence = await evidenceOf(out);
      assert.equal(evidence.mode, "scripted");
      assertSound(evidence, name);
      assertSilent(ran, lab, evidence);
      const covered = Object.entries(evidence.topics).flatMap(([topic, state]) => (state === "ok" ? [topic] : []));
      assert.deepEqual(covered.sort(), [...topics].sort());
      assert.deepEqual((await documented()).sort(), [...Object.keys(evidence), ...TOPICS].sort());
      if (decision) {
        const held = evidence.checks.find((check) => check.name === `the decision holds: ${decision}`);
        assert.deepEqual([held?.observed.ran, held?.observed.toolError], [decision === "allow", decision === "deny"]);
      }
      if (name === "automation") {
        const decisions = evidence.checks.flatMap((check) => check.observed.decisions ?? []);
        assert.deepEqual(decisions, ["tool:approve", "turn-end:verify", "question:answer", "turn-end:verify"]);
      }
      await assertClean(lab);
    });
  }
});

describe("with a person's own Claude", () => {
  test("a spike passes on what is listed by name, keeps it to itself and takes its sessions away", async (t) => {
    const lab = await createLab(t);
    const modelServer = await startModelServer();
    lab.defer(() => modelServer.close());
    modelServer.script("main", (request) => (request.newToolResults().length > 0 ? text("done") : bash(COMMAND)));
    const out = join(lab.root, "evidence.json");
    const ran = await spike("transport", [`--out=${out}`], {
      ...lab.env,
      ...claudeEnv(lab, modelServer.url),
      PI_CLAUDE_SUPERVISOR_CLAUDE: claudeBinary(),
      PI_CLAUDE_SUPERVISOR_WORKER_ENV: workerEnvNames(),
    });
    assert.equal(ran.code, 0, `${ran.stdout}${ran.stderr}`);
    const evidence = await evidenceOf(out);
    assert.equal(evidence.mode, "authenticated");
    assertSound(evidence, "transport");
    assertSilent(ran, lab, evidence);
    assert.equal(modelServer.of("main")[0]?.userTexts().includes(PROMPT), true);
    assert.ok(evidence.left.sessionFiles > 0);
    assert.deepEqual(await readdir(join(lab.home, ".claude", "projects")), []);
    await assertClean(lab);
  });

  for (const [what, args, env, said] of [
    ["in CI", [], { CI: "true" }, /never happens in CI/],
    ["with an option that it does not know", ["--scriptet"], {}, /Unknown or unfinished option "--scriptet"/],
    ["without a file after --out", ["--scripted", "--out"], {}, /--out/],
    ["without a Claude", [], { PATH: "/nonexistent" }, /No claude program/],
  ] as const) {
    test(`a spike refuses to run ${what}`, async (t) => {
      const lab = await createLab(t);
      const ran = await spike("transport", args, { ...lab.env, ...env });
      assert.deepEqual([ran.code, ran.stdout], [2, ""]);
      assert.match(ran.stderr, said);
      assert.equal(existsSync(join(lab.home, ".claude")), false);
    });
  }

  test("spike:automation refuses a switch that it does not know", async (t) => {
    const lab = await createLab(t);
    const ran = await spike("automation", ["--scripted"], { ...lab.env, SPIKE_AUTOMATION_QUESTION: "yes" });
    assert.deepEqual([ran.code, ran.stdout], [2, ""]);
    assert.match(ran.stderr, /SPIKE_AUTOMATION_QUESTION is "yes"; it can be 1 or 0/);
    await assertClean(lab);
  });

  test("spike:permissions refuses a decision that it does not know", async (t) => {
    const lab = await createLab(t);
    const ran = await spike("permissions", ["--scripted"], { ...lab.env, SPIKE_PERMISSION_DECISION: "maybe" });
    assert.deepEqual([ran.code, ran.stdout], [2, ""]);
    assert.match(ran.stderr, /"maybe"/);
    await assertClean(lab);
  });
});

test("the search for secrets names each place that holds one", () => {
  const places = new Map([
    ["a", "nothing here"],
    ["b", `before ${"s".repeat(20)} after`],
    ["c", JSON.stringify({ value: "t".repeat(20) })],
  ]);
  assert.deepEqual(placesWithSecret(["s".repeat(20), "t".repeat(20)], places), ["b", "c"]);
  assert.deepEqual(placesWithSecret(["u".repeat(20)], places), []);
});
