/**
 * The real Claude Code in containment, while its Bash tool runs three sleeps: one in the shell's group, one with its own
 * session, one that dropped its environment and parent. Claude gives each tool shell its own session (2.1.268), so its
 * process group is never enough.
 */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { describe, type TestContext, test } from "node:test";
import { type CgroupMode, countProcesses } from "../../../src/platform/containment/index.ts";
import { isAlive } from "../../../src/platform/process/index.ts";
import { claudeBinary, claudeEnv } from "../../support/claude.ts";
import { bash } from "../../support/model-reply.ts";
import { startModelServer } from "../../support/model-server.ts";
import { until, within } from "../../support/until.ts";
import { createLab } from "../../support/workspace.ts";
import { startHost, USERS } from "./hosts.ts";
import { type Ground, ground, MODES, startTree } from "./trees.ts";

const TOOL = `echo $$ >>"$PIDS"; sh -c "$STAY" & setsid sh -c "$STAY" & (env -i PIDS="$PIDS" SELF="$SELF" setsid sh -c "$STAY" &) ; wait`;

/** The shell notes itself and becomes Claude, so the leader's pid is among the written ones. */
const SCRIPT = `note; echo ready; exec "$CLAUDE" -p --output-format=stream-json --verbose --allowedTools=Bash \
  --setting-sources= --strict-mcp-config "Run the command" </dev/null`;

/** Leader, tool shell, three sleeps. */
const PROCESSES = 5;

const TREE = { script: SCRIPT, processes: PROCESSES };

async function scriptedModel(t: TestContext, place: Ground): Promise<Record<string, string>> {
  const lab = await createLab(t);
  const server = await startModelServer();
  place.defer(() => server.close());
  server.script("main", [bash(TOOL)]);
  return {
    ...lab.env,
    ...claudeEnv(lab, server.url),
    CLAUDE: claudeBinary(),
    HOME: place.root,
    TMPDIR: place.root,
  };
}

for (const { mode, name: how, skip } of MODES) {
  describe(`Claude Code held ${how}, with its Bash tool at work`, { skip }, () => {
    test("is gone with its tools after a graceful stop", async (t) => {
      const { tree, place } = await start(t, mode);
      const outcome = await tree.stop({ kind: "graceful", graceMs: 5000 });
      assert.deepEqual(place.alive(), []);
      assert.ok(outcome.proven, JSON.stringify(outcome));
    });

    test("is gone with its tools after a stop at once", async (t) => {
      const { tree, place } = await start(t, mode);
      assert.ok((countProcesses(tree.record) ?? 0) >= PROCESSES - 1);
      const outcome = await tree.stop({ kind: "now", graceMs: 0 });
      assert.deepEqual(place.alive(), []);
      assert.ok(outcome.proven, JSON.stringify(outcome));
    });

    for (const name of ["SIGTERM", "SIGINT", "SIGKILL"] as const) {
      test(`leaves nothing that a stop does not end after ${name} from outside`, async (t) => {
        const { tree, place } = await start(t, mode);
        process.kill(tree.pid, name);
        await within(tree.exited, 30_000, "Claude ends");
        const outcome = await tree.stop({ kind: "graceful", graceMs: 5000 });
        assert.deepEqual(place.alive(), []);
        assert.ok(outcome.proven, JSON.stringify(outcome));
      });
    }

    for (const { user, name: who, skip: noUser } of USERS) {
      // Another account has no cgroup here.
      if (user === "other" && mode !== "off") continue;
      test(`is gone with its tools within 5 s of the supervisor's SIGKILL ${who}`, { skip: noUser }, async (t) => {
        const place = await ground(t);
        const env = await scriptedModel(t, place);
        const host = await startHost(t, { ...TREE, trees: [TREE], mode, user, place, env });
        const [record] = host.records();
        assert.ok(record?.guardian);
        host.child.kill("SIGKILL");
        await until(() => place.alive().length === 0, 5000, "Claude and its tools are gone");
        await until(() => record.guardian && !isAlive(record.guardian), 1000, "the guardian is gone");
        if (record.cgroup !== undefined) assert.equal(existsSync(record.cgroup), false);
      });
    }
  });
}

async function start(t: TestContext, mode: CgroupMode) {
  const place = await ground(t);
  const env = await scriptedModel(t, place);
  const { tree } = await startTree(t, TREE, mode, {}, { place, env });
  return { tree, place };
}
