/** Verifies once in a process of its own: `verify-once <scratchDir> <spec as JSON>`. For tests that kill it. */
import type { VerifySpec } from "../../src/core/contracts/verifier.ts";
import { createVerifier } from "../../src/verifier/index.ts";
import { hiding } from "./support.ts";

const [scratchDir = "", spec = "{}"] = process.argv.slice(2);
await createVerifier({ scratchDir }).verify(JSON.parse(spec) as VerifySpec, { redactor: hiding("-") });
