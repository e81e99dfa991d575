import assert from "node:assert/strict";
import { test } from "node:test";
import { fold, isKnown } from "../../src/core/fold.ts";
import { stateName } from "../../src/core/machine/project.ts";
import { eventSchemas } from "../../src/core/schema/events.ts";
import { spec } from "./random-events.ts";

test("fold knows exactly the event types of the schema", () => {
  for (const type of Object.keys(eventSchemas)) assert.ok(isKnown(type), type);
  assert.equal(isKnown("future.thing"), false);
});

test("an unknown event type moves the position and nothing else", () => {
  const event = (seq: number, type: string, data: object) => ({
    v: 1 as const,
    seq,
    taskId: "t",
    workerId: null,
    at: `2026-01-01T00:00:0${seq}.000Z`,
    mono: seq,
    type,
    data,
    prev: "",
  });
  const created = event(1, "task.created", spec());
  const known = fold("t", [created]);
  const more = fold("t", [created, event(2, "future.thing", { anything: true })]);
  assert.equal(more.seq, 2);
  assert.equal(stateName(more), stateName(known));
  assert.deepEqual({ ...more, seq: 1, at: known.at, mono: known.mono }, known);
});
