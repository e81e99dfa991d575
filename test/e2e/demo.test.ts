/** `npm run demo` as a person runs it: what it shows, its exit code, and that it leaves nothing. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { PACKAGE_ROOT, PI_LINES, skipReason } from "../support/pi-setup.ts";
import { processesWithEnvironment } from "../support/processes.ts";
import { until, within } from "../support/until.ts";
import { createLab, type Lab } from "../support/workspace.ts";

function startDemo(lab: Lab, ...args: string[]) {
  const child = spawn(process.execPath, ["--import", "tsx", join("scripts", "demo.ts"), ...args], {
    cwd: PACKAGE_ROOT,
    env: { ...lab.env, TSX_DISABLE_CACHE: "1" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const shown = { text: "" };
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk: Buffer) => {
      shown.text += chunk.toString("utf8");
    });
  }
  const exit = new Promise<number | null>((resolve) => child.once("close", resolve));
  return { child, shown, exit };
}

async function assertNothingLeft(lab: Lab, ...except: string[]): Promise<void> {
  // Everything of the demo has its HOME below this TMPDIR.
  await until(
    () => processesWithEnvironment(`=${lab.tmp}`).length === 0,
    5_000,
    "the end of all of the demo's processes",
  );
  assert.deepEqual((await readdir(lab.tmp)).sort(), except.sort());
}

for (const line of PI_LINES) {
  test(`the demo ends completed on Pi ${line} and leaves only the log that it was told to keep`, {
    skip: (await skipReason(line)) ?? false,
  }, async (t) => {
    const lab = await createLab(t);
    const { shown, exit } = startDemo(lab, "--keep", `--pi=${line}`);
    assert.equal(await within(exit, 100_000, () => shown.text), 0, shown.text);
    const order = [
      /gate +allow: Bash ls/,
      /gate +deny: Bash claude --dangerously-skip-permissions/,
      /gate +review: Bash node probe\.mjs/,
      /person +approved/,
      /verifier +FAIL, exit code 1/,
      /supervisor +sends the evidence back/,
      /verifier +PASS, exit code 0/,
      /task +completed, bound to tree/,
      /replay .*equals the stored one/,
      /nothing is left running/,
      /^completed$/m,
    ];
    let from = 0;
    for (const pattern of order) {
      const at = shown.text.slice(from).search(pattern);
      assert.ok(at >= 0, `${pattern} in its place in:\n${shown.text}`);
      from += at;
    }
    assert.doesNotMatch(shown.text, /\u001b/, "no colours without a terminal");
    const kept = /log +(\S+) \(events\.jsonl, report\.html\)/.exec(shown.text)?.[1] ?? "";
    assert.match(await readFile(join(kept, "events.jsonl"), "utf8"), /"task\.completed"/);
    assert.match(await readFile(join(kept, "report.html"), "utf8"), /Make parseDuration add up/);
    await assertNothingLeft(lab, kept.slice(lab.tmp.length + 1));
  });
}

test("the demo that is interrupted in the middle of the work leaves nothing", async (t) => {
  const lab = await createLab(t);
  const { child, shown, exit } = startDemo(lab);
  await until(
    () => shown.text.includes("sends the goal to Claude"),
    60_000,
    () => shown.text,
  );
  child.kill("SIGINT");
  assert.equal(await within(exit, 30_000, () => shown.text), 130, shown.text);
  await assertNothingLeft(lab);
});

test("the demo refuses an option that it does not know", async (t) => {
  const { shown, exit } = startDemo(await createLab(t), "--fast");
  assert.equal(await exit, 2);
  assert.match(shown.text, /Unknown option "--fast"\. Usage/);
});
