/**
 * `doctor`: every condition of a good start, looked at one by one, each with what to do about it. It works where nothing
 * else does, and changes nothing: no folder is made, no login read, nothing sent to a model. Bounded to about 13 s.
 */
import { claudeCheck, loginCheck, trialCheck } from "./claude-checks.ts";
import { type Finding, warning } from "./finding.ts";
import type { DoctorHost } from "./host.ts";
import { nestingCheck, nodeCheck, piCheck, toolsCheck } from "./host-checks.ts";
import { automationCheck, configCheck, containmentCheck, stopCheck, storeCheck } from "./store-checks.ts";

export type { Finding } from "./finding.ts";
export { type DoctorHost, realHost } from "./host.ts";

export async function diagnose(host: DoctorHost): Promise<Finding[]> {
  const configured = configCheck(host);
  const ground = [nodeCheck(host), piCheck(host), nestingCheck(host), ...(await toolsCheck(host))];
  const store = [...storeCheck(host), stopCheck(host)];
  if (!configured.ok) {
    const rest = warning("claude", "Not looked for while the settings can't be read.", "Mend the settings first.");
    return [...ground, configured.finding, rest, ...store];
  }
  const { config, finding } = configured;
  const claude = await claudeCheck(host, config.settings);
  const trial =
    claude.executable === undefined
      ? warning("gate", "No trial start without a Claude program.", "Mend the Claude program first.")
      : await trialCheck(host, config.settings, claude.executable);
  return [
    ...ground,
    claude.finding,
    loginCheck(host, config.settings),
    trial,
    containmentCheck(host, config),
    ...store,
    automationCheck(config),
    finding,
  ];
}
