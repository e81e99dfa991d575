/** The two shell programs under every POSIX shell that this machine has: `/bin/sh` is another one on each system. */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { text } from "node:stream/consumers";
import { describe, test } from "node:test";
import { GUARDIAN, LAUNCHER } from "../../../src/platform/containment/scripts.ts";
import { identify, newMark } from "../../../src/platform/process/index.ts";
import { within } from "../../support/until.ts";
import { ground, PRELUDE, treeEnv } from "./trees.ts";

const SHELLS: readonly { name: string; argv: readonly [string, ...string[]] }[] = [
  { name: "dash", argv: ["dash"] },
  { name: "bash as sh", argv: ["bash", "--posix"] },
  { name: "busybox", argv: ["busybox", "sh"] },
  { name: "ksh", argv: ["ksh"] },
];

for (const { name, argv } of SHELLS) {
  const [command, ...first] = argv;
  // By path, because the programs get environments without PATH.
  const program = spawnSync("/bin/sh", ["-c", 'command -v "$0"', command], { encoding: "utf8" }).stdout.trim();
  describe(`under ${name}`, { skip: program === "" && "not on this machine" }, () => {
    test("the launcher takes the mark, waits, and becomes the program with its arguments", async (t) => {
      const place = await ground(t);
      const { locks } = newMark(undefined);
      const child = spawn(
        program,
        [
          ...first,
          LAUNCHER,
          "",
          String(locks),
          "/bin/sh",
          "-c",
          'cat /proc/self/limits; echo "$1|$2"',
          "sh",
          "a b",
          "",
        ],
        {
          cwd: place.root,
          env: treeEnv(place.root),
          stdio: ["ignore", "pipe", "inherit", "pipe"],
        },
      );
      const gate = child.stdio[3] as Duplex;
      const [report] = await within(once(gate, "data"), 10_000, "the launcher reports");
      assert.equal(String(report), "outside marked\n");
      const output = text(child.stdout ?? assert.fail());
      gate.end("go\n");
      const lines = (await within(output, 10_000, "the output's end")).trimEnd().split("\n");
      assert.equal(lines.at(-1), "a b|");
      assert.match(lines.find((line) => line.startsWith("Max file locks")) ?? "", new RegExp(` ${locks} +${locks} `));
    });

    test("the launcher starts nothing when its supervisor is gone", async (t) => {
      const place = await ground(t);
      const child = spawn(program, [...first, LAUNCHER, "", "", "/bin/sh", "-c", 'echo $$ >>"$PIDS"'], {
        cwd: place.root,
        env: treeEnv(place.root),
        stdio: ["ignore", "ignore", "inherit", "pipe"],
      });
      (child.stdio[3] as Duplex).end();
      const [code] = await within(once(child, "exit"), 10_000, "the launcher leaves");
      assert.equal(code, 125);
      assert.deepEqual(place.pids(), []);
    });

    test("the guardian gives TERM and grace, then ends a stubborn tree and a daemon that dropped everything", async (t) => {
      const place = await ground(t);
      const mark = newMark(undefined);
      const tmp = join(place.root, "it's a tmp");
      mkdirSync(tmp);
      writeFileSync(join(tmp, "x"), "");
      const leader = spawn(
        program,
        [
          ...first,
          LAUNCHER,
          "",
          String(mark.locks),
          "/bin/sh",
          "-c",
          `${PRELUDE}trap 'echo TERM >"$PIDS.term"' TERM; note; (env -i PIDS="$PIDS" SELF="$SELF" setsid sh -c "$STAY" &)
           env -u PI_CLAUDE_SUPERVISOR_TREE setsid sh -c "trap '' TERM; $STAY" & while :; do sleep 0.05; done`,
        ],
        {
          cwd: place.root,
          env: { ...treeEnv(place.root), [mark.name]: mark.value },
          detached: true,
          stdio: ["ignore", "ignore", "inherit", "pipe"],
        },
      );
      const identity = identify(leader.pid ?? 0) ?? assert.fail();
      const guardian = spawn(program, [...first, GUARDIAN, mark.id, String(mark.locks), "", tmp, "30"], {
        cwd: "/",
        env: {},
        detached: true,
        stdio: ["pipe", "pipe", "inherit"],
      });
      const [ready] = await within(once(guardian.stdout, "data"), 10_000, "the guardian is ready");
      assert.equal(String(ready), "ready\n");
      (leader.stdio[3] as Duplex).end("go\n");
      await place.complete(3);
      guardian.stdin.end(`leader ${identity.pid} ${identity.startTicks}\n`);
      const [code] = await within(once(guardian, "exit"), 10_000, "the guardian leaves");
      assert.equal(code, 0);
      assert.deepEqual(place.alive(), []);
      assert.equal(readFileSync(join(place.root, "pids.term"), "utf8"), "TERM\n");
      assert.equal(existsSync(tmp), false);
    });
  });
}
