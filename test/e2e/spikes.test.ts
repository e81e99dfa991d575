/** The spikes as a person runs them with their own Claude, and what they refuse; spikes.soak.ts runs each of them. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { placesWithSecret } from "../../scripts/spike/evidence.ts";
import { COMMAND, PROMPT } from "../../scripts/spike/room.ts";
import { claudeBinary, claudeEnv, workerEnvNames } from "../support/claude.ts";
import { bash, text } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { createLab } from "../support/workspace.ts";
import { assertClean, assertSilent, assertSound, evidenceOf, spike } from "./spike-house.ts";

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
