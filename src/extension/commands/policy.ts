/** `/supervise policy check "<command>"` and `policy show`. */
import { resolve } from "node:path";
import type { PolicyFact } from "../../core/contracts/policy.ts";
import { oneLine } from "../../report/inert.ts";
import type { Supervisor } from "../../supervisor/api.ts";
import { type Answer, type BadAnswer, type Command, type Scene, usageError } from "../answer.ts";
import { usageOf } from "../parse/spec.ts";
import { safe, section } from "../words-for-people.ts";

export const policy: Command<"policy"> = async (scene, supervisor) => {
  const { call } = scene;
  if (call.args[0] === "show") {
    if (call.rest !== "")
      return usageError("unexpected-word", `Policy show takes no command. Usage: ${usageOf("policy")}`);
    return show(scene, supervisor);
  }
  if (call.rest === "")
    return usageError("missing-argument", `Policy check needs the command. Usage: ${usageOf("policy")}`);
  return check(scene, supervisor);
};

async function check(
  { call, cwd, trustedProject }: Scene<"policy">,
  supervisor: Supervisor,
): Promise<Answer | BadAnswer> {
  const folder = resolve(cwd, call.flags.cwd ?? ".");
  const done = await supervisor.policyCheck(call.rest, folder, trustedProject);
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

async function show(
  { call, cwd, trustedProject }: Scene<"policy">,
  supervisor: Supervisor,
): Promise<Answer | BadAnswer> {
  const done = await supervisor.policyShow(resolve(cwd, call.flags.cwd ?? "."), trustedProject);
  if (!done.ok) return done;
  const { policy: inForce, settings, notes } = done;
  return {
    ok: true,
    fields: { ...inForce, settings, notes },
    text: [
      "Every tool call of the worker is judged before it runs:",
      ...Object.entries(VERDICT_MEANS).map(([verdict, means]) => `  ${verdict}: ${means}`),
      `Profile ${inForce.profile}, in ${oneLine(inForce.workspace, 200)}`,
      ...section("Your rules:", inForce.rules.map(ruleLine)),
      ...section("Places:", inForce.places.map(placeLine)),
      ...section(
        "Programs that the gate knows:",
        Object.entries(inForce.programs).map(
          ([table, programs]) => `${table}: ${oneLine(programs.map((program) => program.name).join(" "), 300)}`,
        ),
      ),
      ...section("Settings:", settings.map(settingLine)),
      ...notes.map((note) => oneLine(note, 500)),
      'Judge one command: /supervise policy check "<command>"',
    ].join("\n"),
  };
}

type Shown = Extract<Awaited<ReturnType<Supervisor["policyShow"]>>, { ok: true }>;

function ruleLine({ verdict, tool, argv, origin }: Shown["policy"]["rules"][number]): string {
  return oneLine(`${verdict}: ${tool} ${argv?.join(" ") ?? ""} (${origin})`, 200);
}

function placeLine(place: Shown["policy"]["places"][number]): string {
  const { read, edit, write, remove } = place;
  return oneLine(`${place.place}: read ${read}, edit ${edit}, write ${write}, remove ${remove}`, 200);
}

function settingLine({ name, value, origin }: Shown["settings"][number]): string {
  return oneLine(`${name}: ${typeof value === "string" ? value : JSON.stringify(value)} (${origin})`, 300);
}
