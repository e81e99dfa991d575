import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { SeenMessages } from "../../src/worker/claude-jsonl/seen-messages.ts";

test("a uuid that comes again within 2,000 messages is seen, a new one never is", () => {
  const seen = new SeenMessages();
  const last: string[] = [];
  for (let count = 0; count < 50_000; count++) {
    // Random ones, and ones that differ in a counter at their end only.
    const uuid = count % 2 === 0 ? randomUUID() : `00000000-0000-4000-8000-${String(count).padStart(12, "0")}`;
    assert.equal(seen.add(uuid), true, `${uuid} is new`);
    last.push(uuid);
    if (last.length > 2000) last.shift();
  }
  for (const uuid of last) assert.equal(seen.add(uuid), false, `${uuid} was here`);
});
