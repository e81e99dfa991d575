/** Containers: the daemon has the machine's rights, so mounts of the host and its namespaces are denied (Docker 27, Podman 5). */
import { describe, type Invocation, type ProgramTable } from "../invocation.ts";
import { judgePath } from "../paths/access.ts";
import { SYSTEM_FOLDERS } from "../paths/places.ts";
import { join, normalise } from "../paths/text.ts";
import { type Flow, NOTHING_KNOWN } from "../shell/flow.ts";
import { readable } from "../shell/marks.ts";
import { judgeClaudeWords } from "./claude.ts";
import { program } from "./reader.ts";
import { sweepPaths } from "./sweep.ts";

const container = program("starts programs by a daemon with the machine's rights", judgeContainer);

export const CONTAINERS: ProgramTable = Object.fromEntries(
  "docker podman nerdctl docker-compose podman-compose buildah finch lima colima ctr crictl lxc lxd incus vagrant minikube kind multipass"
    .split(" ")
    .map((name) => [name, container]),
);

const SOCKETS = /(?:^|\/)(?:docker|podman|containerd|crio|containerd-shim)\.sock$/;
const OTHER_DAEMON = /^(?:-H|--host|--context|-c|--url|--connection|--remote|-r)(?:=|$)/;
const HOST_NAMESPACE = /^--(?:pid|net|network|ipc|uts|userns|cgroupns)$/;

function judgeContainer(call: Invocation): Flow {
  const { gate, args } = call;
  const subject = readable(describe(call));
  gate.report.review("container.daemon", "A daemon with the machine's rights does the work.", subject);
  const verb = args.findIndex(
    (arg, index) =>
      !arg.value.startsWith("-") &&
      !/^(?:-H|--host|--context|-c|--url|--connection|-l|--log-level|--config|-f|--file|-p|--project-name)$/.test(
        args[index - 1]?.value ?? "",
      ),
  );
  for (const [index, arg] of args.entries()) {
    const text = arg.value;
    const next = args[index + 1]?.value ?? "";
    const global = verb < 0 || index < verb;
    if (
      global &&
      OTHER_DAEMON.test(text) &&
      !(text === "-c" && verb < 0) &&
      !(call.name.endsWith("-compose") && text === "-c")
    ) {
      gate.report.deny("container.other-daemon", "It would work with another daemon.", subject);
    }
    if (text === "--privileged" || text === "--privileged=true")
      gate.report.deny("container.privileged", "The container would have all the machine's rights.", subject);
    if (
      (HOST_NAMESPACE.test(text) && next === "host") ||
      /^--(?:pid|net|network|ipc|uts|userns|cgroupns)=host$/.test(text)
    ) {
      gate.report.deny("container.host-namespace", "The container would share a namespace of the machine.", subject);
    }
    const mount = mountSource(text, next);
    if (mount !== undefined) judgeMount(call, mount, subject);
  }
  const words = args.filter((arg) => !arg.value.startsWith("-")).map((arg) => arg.value);
  if (
    /^(?:push|login|logout)$/.test(words[0] ?? "") ||
    (words[0] === "compose" && words[1] === "push") ||
    (words[0] === "image" && words[1] === "push") ||
    (words[0] === "buildx" && args.some((arg) => arg.value === "--push")) ||
    args.some((arg) => arg.value === "--push")
  ) {
    gate.report.person("outward.acts", "Others would see what it does.", subject);
  }
  judgeClaudeWords(call);
  sweepPaths(call, args);
  return NOTHING_KNOWN;
}

/** The host's side of `-v a:b`, `--volume=a:b`, `--mount type=bind,source=a,...`. */
function mountSource(text: string, next: string): string | undefined {
  if (text === "-v" || text === "--volume" || text === "--mount") return sourceOf(next);
  const attached = /^(?:-v|--volume=|--mount=)(.+)$/.exec(text);
  if (attached !== null && !text.startsWith("--version") && text !== "-version") return sourceOf(attached[1] ?? "");
  // `-itv a:b`
  return /^-[a-z]+v$/.test(text) ? sourceOf(next) : undefined;
}

function sourceOf(value: string): string | undefined {
  const named = /(?:^|,)(?:source|src)=([^,]*)/.exec(value);
  if (named !== null) return named[1];
  return value.includes(":") ? value.slice(0, value.indexOf(":")) : undefined;
}

function judgeMount(call: Invocation, source: string, subject: string): void {
  const { gate, state } = call;
  if (!source.includes("/") && source !== "." && source !== ".." && source !== "~") return; // a named volume
  const path = source === "~" || source.startsWith("~/") ? gate.context.home + source.slice(1) : source;
  const full = normalise(join(state.folders[0] ?? "/", path));
  const real = gate.facts.realPath(full) ?? full;
  for (const target of new Set([full, real])) {
    const parts = target.split("/");
    const isHome =
      target === gate.context.home || (parts.length === 3 && (parts[1] === "home" || parts[1] === "Users"));
    if (isHome || SYSTEM_FOLDERS.has(target) || SOCKETS.test(target) || gate.context.home.startsWith(`${target}/`)) {
      gate.report.deny(
        "container.host-mount",
        "The container would reach the machine's own files or its daemon.",
        subject,
      );
      return;
    }
  }
  judgePath(gate, state.folders, { value: path, glob: false, access: "read" });
}
