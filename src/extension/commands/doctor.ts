/** `/supervise doctor`: what this machine lacks for a good start, and how to mend it. */
import type { Finding } from "../../supervisor/doctor/index.ts";
import { EXIT, type PlainCommand } from "../answer.ts";
import { lazy } from "../lazy.ts";
import { count, safe } from "../words-for-people.ts";

const SIGN = { ok: "ok     ", warning: "warning", error: "error  " } as const;

export const doctor: PlainCommand<"doctor"> = async ({ cwd, trustedProject }) => {
  const [room, sdk] = await Promise.all([lazy.doctor(), lazy.sdk()]);
  const { env } = process;
  const agentDir = sdk.piAgentDir() ?? undefined;
  const checks = await room.diagnose(room.realHost({ env, agentDir, trustedProject, cwd, piVersion: sdk.piVersion() }));
  const errors = checks.filter((one) => one.level === "error").length;
  const warnings = checks.filter((one) => one.level === "warning").length;
  return {
    ok: true,
    fields: { healthy: errors === 0, errors, warnings, checks },
    text: [...checks.map(line), verdict(errors, warnings)].join("\n"),
    level: errors > 0 ? "error" : warnings > 0 ? "warning" : "info",
    exitCode: errors > 0 ? EXIT.failed : EXIT.done,
  };
};

function line({ check, level, found, fix }: Finding): string {
  const head = `${SIGN[level]}  ${check}: ${safe(found)}`;
  return fix === null ? head : `${head}\n         → ${safe(fix)}`;
}

function verdict(errors: number, warnings: number): string {
  if (errors > 0) return `${count(errors, "thing")} to mend before a task can start.`;
  const but = warnings > 0 ? ` ${count(warnings, "line")} above could be better.` : "";
  return `Ready.${but} Next: /supervise start <goal> --verify "<command that must succeed>"`;
}
