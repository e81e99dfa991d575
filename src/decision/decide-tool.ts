/** The one tool of the decision session. Plain JSON schema: Pi 1.5.0 and later validate arguments as such. */
import { Type } from "typebox";
import type { DecideTool } from "../core/contracts/decision.ts";

const DECISIONS = ["approve", "deny", "answer", "continue", "verify", "escalate"];
const CATEGORIES = ["detail", "architecture", "scope", "risk"];

export const decideTool: DecideTool = {
  name: "decide",
  description: "Gives the one decision about the last question. Call it exactly once; nothing else counts.",
  parameters: Type.Object({
    decision: Type.String({ enum: DECISIONS, description: "One of those that the question allows." }),
    reason: Type.String({ description: "One or two sentences: why. The worker and a person may read it." }),
    answers: Type.Optional(
      Type.Object(
        {},
        {
          // Understood by every provider, which patternProperties (Type.Record) is not.
          additionalProperties: Type.String(),
          description: "With answer: for each question its text and the chosen label, or your own words.",
        },
      ),
    ),
    message: Type.Optional(Type.String({ description: "With continue: what the worker is to do next." })),
    category: Type.Optional(
      Type.String({
        enum: CATEGORIES,
        description: "With answer, and with approve of a plan: what kind of choice it is. Absent counts as risk.",
      }),
    ),
  }),
};
