/** The scripted `claude` behind the real adapter, in a lab. */
import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import type { ExecutableFacts } from "../../src/core/contracts/worker.ts";
import { FAKE_CLAUDE, type Fake, fakeClaude } from "../support/fake-claude/index.ts";
import { createLab, type Lab } from "../support/workspace.ts";
import { type Driven, type DriveOptions, drive } from "./driver.ts";

export const FAKE_FACTS: ExecutableFacts = {
  path: FAKE_CLAUDE,
  realPath: FAKE_CLAUDE,
  version: "2.1.268",
  size: 0,
  sha256: "",
};

export interface FakeScene {
  lab: Lab;
  fake: Fake;
  driven: Driven;
}

/** A worker that was made and not started. `scenario` options go to the fake. */
export async function fakeScene(
  t: TestContext,
  scenario: string,
  options: object = {},
  drives: Partial<DriveOptions> = {},
): Promise<FakeScene> {
  const lab = await createLab(t);
  const fake = fakeClaude(lab.root, scenario, options);
  const env = { ...fake.env, ...drives.env };
  const driven = await drive({ lab, cwd: lab.root, executable: FAKE_FACTS, ...drives, env });
  return { lab, fake, driven };
}

/** A worker that has passed its handshake. */
export async function readyFake(...args: Parameters<typeof fakeScene>): Promise<FakeScene> {
  const scene = await fakeScene(...args);
  const started = await scene.driven.worker.start();
  assert.ok(started.ok, JSON.stringify(started));
  return scene;
}
