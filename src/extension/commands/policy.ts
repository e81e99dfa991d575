/** `/supervise policy check "<command>"` and `policy show`. */
import { resolve } from "node:path";
import type { PolicyFact } from "../../core/contracts/policy.ts";
import { oneLine } from "../../report/inert.ts";
import type { Supervisor } from "../../supervisor/api.ts";
import { type Answer, type BadAnswer, type Command, type Scene, usageError } from "../answer.ts";
import { usageOf } from "../parse/spec.ts";
import { safe } from "../words-for-people.ts";

export const policy: Command<"policy"> = async (scene, supervisor) => {
  const { call } = scene;
  if (call.args[0] === "show") {
    if (call.rest !== "")
      return usageError("unexpected-word", `Policy show takes no command. Usage: ${usageOf("policy")}`);
    return show();
  }
  if (call.rest === "")
    return usageError("missing-argument", `Policy check needs the command. Usage: ${usageOf("policy")}`);
  return check(scene, supervisor);
};

async function check({ call, cwd }: Scene<"policy">, supervisor: Supervisor): Promise<Answer | BadAnswer> {
  const folder = resolve(cwd, call.flags.cwd ?? ".");
  const done = await supervisor.policyCheck(call.rest, folder);
  if (!done.ok) return done;
  const { verdict, rule, reason, loss, facts } = done.decision;
  const lines = [
    `${verdict}: ${VERDICT_MEANS[verdict]}`,
    `Rule ${rule}: ${safe(reason)}`,
    ...(facts ?? []).map(factLine),
    ...(done.explanation === "" ? [] : [safe(done.explanation)]),
  ];
  return {
    ok: true,
    fields: {
      verdict,
      rule,
      reason,
      loss: loss ?? null,
      facts: facts ?? [],
      explanation: done.explanation,
      cwd: folder,
    },
    text: lines.join("\n"),
  };
}

const VERDICT_MEANS = {
  allow: "it runs without asking anyone",
  review: "somebody is asked before it runs",
  person: "only a person can let it run",
  deny: "it never runs, whoever asks",
} as const;

function factLine(fact: PolicyFact): string {
  return `  ${oneLine(fact.subject, 120)}: ${fact.verdict} by ${fact.rule}, ${oneLine(fact.reason, 200)}`;
}

/** The gate's profiles and where they come from; the person's own rules arrive with the configuration file. */
function show(): Answer {
  const text = [
    "Every tool call of the worker is judged before it runs:",
    ...Object.entries(VERDICT_MEANS).map(([verdict, means]) => `  ${verdict}: ${means}`),
    "Profile: standard, unless start was given --profile strict or --profile open.",
    "  strict: project runners and commits are asked about too",
    "  standard: reading, edits in the workspace, the project's own tests and builds, local commits run",
    "  open: dependency installs and read-only network too",
    'Judge one command: /supervise policy check "<command>"',
  ];
  return {
    ok: true,
    fields: {
      profile: "standard",
      profileFrom: "default",
      profiles: ["strict", "standard", "open"],
      verdicts: VERDICT_MEANS,
    },
    text: text.join("\n"),
  };
}
