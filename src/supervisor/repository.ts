/**
 * What a repository brings along for Claude: guidance that is passed on as text, and settings that could run commands.
 * With `--trust user` and `none` Claude loads none of it (seen on 2.1.268: `--setting-sources=user` with
 * `--strict-mcp-config` drops hooks, MCP servers and also the project's CLAUDE.md).
 */
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { join } from "node:path";
import type { Trust } from "../core/contracts/policy.ts";
import { GUIDANCE_CHARS, guidanceText } from "../core/prompts.ts";

const SETTINGS = [".claude/settings.json", ".claude/settings.local.json"];
const MCP = ".mcp.json";
const GUIDANCE = ["CLAUDE.md", ".claude/CLAUDE.md"];
const MAX_SETTINGS_BYTES = 256 * 1024;
/** Bytes read of a guidance file: enough for its characters in UTF-8. */
const MAX_GUIDANCE_BYTES = 4 * GUIDANCE_CHARS;
const MAX_FINDINGS = 20;

/** The project's CLAUDE.md as text for the system prompt; undefined when there is none that can be read. */
export function projectGuidance(cwd: string): string | undefined {
  for (const name of GUIDANCE) {
    const text = readText(join(cwd, name), MAX_GUIDANCE_BYTES);
    if (text !== undefined && text.trim() !== "") return guidanceText(name, text);
  }
  return undefined;
}

/** One line for each thing of the repository that would run or loosen something, as data for the person. */
export function repositoryFindings(cwd: string, trust: Trust): string[] {
  const found: string[] = [];
  for (const name of SETTINGS) {
    const settings = readJson(join(cwd, name));
    if (settings === undefined) continue;
    for (const command of hookCommands(settings["hooks"])) found.push(`${name}: hook runs ${quote(command)}`);
    for (const key of ["apiKeyHelper", "env", "statusLine", "permissions"]) {
      if (settings[key] !== undefined) found.push(`${name}: sets ${key}`);
    }
  }
  const servers = readJson(join(cwd, MCP))?.["mcpServers"];
  if (isObject(servers)) {
    for (const [server, how] of Object.entries(servers)) {
      const command = isObject(how) && typeof how["command"] === "string" ? ` runs ${quote(how["command"])}` : "";
      found.push(`${MCP}: server ${quote(server)}${command}`);
    }
  }
  const suffix = trust === "project" ? "" : " (not loaded)";
  return found.slice(0, MAX_FINDINGS).map((line) => line + suffix);
}

function hookCommands(hooks: unknown): string[] {
  if (!isObject(hooks)) return [];
  const groups = Object.values(hooks).flatMap((list) => (Array.isArray(list) ? list : []));
  const entries = groups.flatMap((group) => (isObject(group) && Array.isArray(group["hooks"]) ? group["hooks"] : []));
  return entries.flatMap((entry) =>
    isObject(entry) && typeof entry["command"] === "string" ? [entry["command"]] : [],
  );
}

function readJson(path: string): Record<string, unknown> | undefined {
  const text = readText(path, MAX_SETTINGS_BYTES);
  if (text === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The first `maxBytes` of a regular file that is no link; a FIFO cannot hold us (O_NONBLOCK). */
function readText(path: string, maxBytes: number): string | undefined {
  let fd: number;
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch {
    return undefined;
  }
  try {
    if (!fstatSync(fd).isFile()) return undefined;
    const bytes = Buffer.alloc(maxBytes);
    const length = readSync(fd, bytes, 0, maxBytes, 0);
    return bytes.toString("utf8", 0, length);
  } catch {
    return undefined;
  } finally {
    closeSync(fd);
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function quote(text: string): string {
  return JSON.stringify(text.length > 120 ? `${text.slice(0, 120)}…` : text);
}
