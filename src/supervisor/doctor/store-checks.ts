/** Where we keep things: settings and their origins, the state folder and its file system, containment. */
import { failure, type Result } from "../../core/result.ts";
import { type Config, loadConfig } from "../../store/config.ts";
import { showConfig } from "../../store/config-view.ts";
import { openStateDir, stateDirPath } from "../../store/layout.ts";
import { standingStop } from "../standing-stop.ts";
import { type Finding, fault, faultOf, ok, warning } from "./finding.ts";
import { type DoctorHost, nearestExisting } from "./host.ts";

export function configCheck(host: DoctorHost): Result<{ config: Config; finding: Finding }> & { finding: Finding } {
  const { env, agentDir, trustedProject } = host;
  const loaded = loadConfig({
    env,
    ...(agentDir === undefined ? {} : { agentDir }),
    ...(trustedProject === undefined ? {} : { trustedProject }),
  });
  if (!loaded.ok) return { ...failure(loaded.reason, loaded.message), finding: faultOf("settings", loaded.message) };
  const { config } = loaded;
  const changed = showConfig(config).filter(({ origin }) => origin !== "default");
  const said = changed.map(({ name, value, origin }) => `${name} = ${value} (${origin})`).join("; ");
  const found = changed.length === 0 ? "All settings are the defaults." : `Not the defaults: ${said}.`;
  const [note] = config.notes;
  const finding =
    note === undefined
      ? ok("settings", found)
      : warning("settings", `${found} ${config.notes.join(" ")}`, "Take the ignored wishes out of the project's file.");
  return { ok: true, config, finding };
}

/** statfs(2) types of file systems that other machines write too: locks and syncs mean less there. */
const NETWORK: Readonly<Record<number, string>> = {
  26985: "NFS",
  20859: "SMB",
  4283649346: "CIFS",
  4266872130: "SMB 2",
  16914839: "9p",
  1397113167: "AFS",
  12805120: "Ceph",
  198183888: "Lustre",
  18225520: "GFS2",
  1952539503: "OCFS2",
  1196443219: "GPFS",
  1702057286: "FUSE",
};

export function storeCheck(host: DoctorHost): Finding[] {
  const wanted = stateDirPath({ env: host.env });
  if (!wanted.ok) return [faultOf("state-folder", wanted.message)];
  const { path } = wanted;
  const opened = openStateDir({ env: host.env, create: false });
  if (!opened.ok && opened.reason !== "missing") return [faultOf("state-folder", opened.message)];
  const exists = opened.ok;
  const at = nearestExisting(path);
  const found: Finding[] = [];
  const writable = host.writable(at);
  if (writable === "read-only") {
    found.push(
      fault(
        "state-folder",
        `${at} is on a read-only file system.`,
        "Set PI_CLAUDE_SUPERVISOR_STATE_DIR to a folder on a local disk that you can write.",
      ),
    );
  } else if (writable === "denied") {
    found.push(
      fault(
        "state-folder",
        `You can't write ${at}.`,
        "Set PI_CLAUDE_SUPERVISOR_STATE_DIR to a folder of your own, or give yourself the right to write there.",
      ),
    );
  } else {
    found.push(ok("state-folder", exists ? `${path}, only yours.` : `${path} will be made at the first start.`));
  }
  const type = host.fileSystemType(at);
  /* statfs gives 32 bits, as a signed or an unsigned number. */
  const network = type === undefined ? undefined : NETWORK[type >>> 0];
  found.push(
    network === undefined
      ? ok("file-system", "The state folder is on a local file system.")
      : warning(
          "file-system",
          `The state folder is on ${network}: two machines could own one task, and what is synced may be lost.`,
          "Set PI_CLAUDE_SUPERVISOR_STATE_DIR to a folder on a local disk.",
        ),
  );
  return found;
}

const GET_CGROUP =
  "Start Pi with a cgroup of its own: systemd-run --user --scope -p Delegate=yes pi (docs/containment.md)";

export function containmentCheck(host: DoctorHost, config: Config): Finding {
  const mode = config.settings.cgroup;
  const facts = host.containment(mode);
  if (facts.kind === "cgroup") return ok("cgroup", facts.text);
  if (mode === "required") {
    const fix = `${GET_CGROUP}, or set PI_CLAUDE_SUPERVISOR_CGROUP=auto.`;
    return fault("cgroup", `PI_CLAUDE_SUPERVISOR_CGROUP is required. ${facts.text}`, fix);
  }
  if (mode === "off") return warning("cgroup", facts.text, "Set PI_CLAUDE_SUPERVISOR_CGROUP=auto.");
  if (host.platform === "darwin") return ok("cgroup", facts.text);
  return warning("cgroup", facts.text, `${GET_CGROUP}.`);
}

/** A switch that stands off is forgotten easily, and then nothing automatic happens. */
export function automationCheck({ settings, origins }: Config): Finding {
  if (settings.automation === "on") return ok("automation", "Automation is on.");
  return warning(
    "automation",
    `Automation is off (${origins.automation}): automatic tasks wait, and only what you ask for is done.`,
    'Write "automation": "on" in supervisor.json, or take the line out, once it may go on.',
  );
}

/** While a stop stands nothing can start. */
export function stopCheck(host: DoctorHost): Finding {
  const looked = standingStop(host.env);
  if (!looked.ok) return faultOf("emergency-stop", looked.message);
  const { inForce, held, faults } = looked.status;
  if (inForce)
    return fault("emergency-stop", held?.message ?? "A stop is in force.", "Look at it: /supervise estop status");
  const [first] = faults;
  return first === undefined
    ? ok("emergency-stop", "No emergency stop is in force.")
    : warning("emergency-stop", first, "Look at it: /supervise estop status");
}
