/** `/supervise help [command]`, and `/supervise` alone: what there is, and the one next thing to do. */
import { readFileSync } from "node:fs";
import type { PlainCommand, Scene } from "../answer.ts";
import { usageError } from "../answer.ts";
import { lazy } from "../lazy.ts";
import { nearest } from "../parse/nearest.ts";
import { commandNames, flagUsage, isCommand, specOf, usageOf } from "../parse/spec.ts";
import { nextThing } from "./next-thing.ts";

export const help: PlainCommand<"help"> = async (scene) => {
  const [topic] = scene.call.args;
  if (topic === undefined) return overview(scene);
  if (!isCommand(topic)) {
    const meant = nearest(topic, commandNames);
    return usageError(
      "unknown-command",
      `There is no command "${topic.slice(0, 60)}".${meant === undefined ? " /supervise help shows all." : ` Did you mean "${meant}"?`}`,
    );
  }
  const spec = specOf(topic);
  const flags = Object.entries(spec.flags).map(([flag, how]) => `  ${flagUsage(flag, how)}: ${how.about}`);
  return {
    ok: true,
    fields: { topic, usage: usageOf(topic), about: spec.about },
    text: [usageOf(topic), spec.about, ...flags].join("\n"),
  };
};

async function overview(scene: Scene<"help">) {
  const next = await nextThing(scene);
  const { piVersion } = await lazy.sdk();
  const version = ownVersion();
  const width = Math.max(...commandNames.map((name) => name.length));
  const lines = commandNames.map((name) => `  ${name.padEnd(width)}  ${specOf(name).about}`);
  return {
    ok: true as const,
    fields: { version, pi: piVersion(), commands: commandNames.map((name) => usageOf(name)), next },
    text: [
      `pi-claude-supervisor ${version ?? ""}: Claude Code works on your goal; every tool call is gated, and only the verification says done.`,
      `Next: ${next}`,
      ...lines,
      "One of them in detail: /supervise help <command>. For programs: --json.",
    ].join("\n"),
  };
}

function ownVersion(): string | null {
  try {
    const manifest: unknown = JSON.parse(readFileSync(new URL("../../../package.json", import.meta.url), "utf8"));
    const version = (manifest as { version?: unknown }).version;
    return typeof version === "string" ? version : null;
  } catch {
    return null; // a bundle without its manifest: the version is not known
  }
}
