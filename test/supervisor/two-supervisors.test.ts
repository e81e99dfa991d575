import { describe, test } from "node:test";
import { interleave } from "./two-supervisors.ts";

describe("two Pi on one store and one folder", () => {
  test("20 acts interleaved: one worker at a time, every message once, every refusal for its reason", (t) =>
    interleave(t, { rounds: 10, seed: Number(process.env["TWO_SEED"] ?? Date.now()) }));
});
