import { runDrill } from "../../control/drill.ts";
import { actorOf } from "../../control/person.ts";
import { text } from "../../control/show.ts";
import type { Answer, CliPorts } from "./ports.ts";
import { callerOf, refused } from "./refusal.ts";

/** A stop on a dummy worker, timed. Exit 0 only when the dummy is proven gone. */
export async function drill(ports: CliPorts): Promise<Answer> {
  const outcome = await runDrill({
    env: ports.env,
    account: ports.account,
    ownership: ports.ownership,
    clock: ports.clock,
    redact: ports.redact,
    actor: actorOf(callerOf(ports)),
  });
  if (!outcome.ok) return refused(outcome);
  const report = outcome.drill;
  const stage = (name: string, ms: number | undefined): string =>
    `  ${name}: ${ms === undefined ? "NOT reached" : `${ms} ms`}`;
  return {
    exitCode: report.exitCode,
    json: { command: "drill", ...report },
    text: text([
      report.ok ? "The drill passed: a dummy worker that ignores TERM is proven gone." : "The drill FAILED.",
      stage("order reached the supervisor", report.toOrderMs),
      stage("acknowledged", report.toAcknowledgedMs),
      stage("no process left", report.toEmptyMs),
      stage("verified from outside", report.toVerifiedMs),
    ]),
  };
}
