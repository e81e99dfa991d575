/** Read, Glob, Grep and the editing tools: judged by path. What is written is not judged. */
import type { ToolCall } from "../../core/contracts/policy.ts";
import type { Gate } from "../gate.ts";
import { judgePath } from "../paths/access.ts";
import type { Access } from "../paths/places.ts";
import { hasControlCharacters, hasHiddenCharacters } from "../shell/characters.ts";
import { readable } from "../shell/marks.ts";
import type { Fields } from "./shapes.ts";

export function judgeReadTool(call: ToolCall, fields: Fields, gate: Gate): void {
  judgeToolPath(fields.file_path, "read", call, gate);
  gate.report.allow("tool.Read", "It reads a file of the workspace.");
}

export function judgeEditTool(call: ToolCall, fields: Fields, gate: Gate): void {
  judgeToolPath(fields.file_path ?? fields.notebook_path, "edit", call, gate);
  gate.report.allow(`tool.${call.toolName}`, "It changes an ordinary file of the workspace.");
}

export function judgeSearchTool(call: ToolCall, fields: Fields, gate: Gate): void {
  const folder = typeof fields.path === "string" ? fields.path : call.cwd;
  judgeToolPath(folder, "read", call, gate);
  const pattern = call.toolName === "Glob" ? fields.pattern : fields.glob;
  if (typeof pattern === "string") judgePattern(pattern, folder, call, gate);
  gate.report.allow(`tool.${call.toolName}`, "It searches in the workspace.");
}

function judgeToolPath(path: unknown, access: Access, call: ToolCall, gate: Gate): void {
  if (typeof path !== "string") return;
  if (path === "") {
    gate.report.review("tool.empty-path", "The path is empty.", "");
    return;
  }
  if (path.startsWith("~")) {
    gate.report.review("tool.tilde-path", "A tool does not expand `~`; it is not clear what is meant.", path);
    judgePath(gate, [call.cwd], {
      value: path.startsWith("~/") ? gate.context.home + path.slice(1) : path,
      glob: false,
      access,
    });
    return;
  }
  if (hasControlCharacters(path))
    gate.report.review("tool.control-path", "The path holds control characters.", readable(path));
  if (hasHiddenCharacters(path))
    gate.report.review("characters.invisible", "The path holds invisible characters.", readable(path));
  if (/^[A-Za-z]:[\\/]|^\\\\/.test(path))
    gate.report.review("words.windows-path", "The path is shaped like one of Windows.", path);
  judgePath(gate, [call.cwd], { value: path.replace(/[\ue000-\uf8ff\0]/g, "\ufffd"), glob: false, access });
}

/** A pattern may leave its folder (`../**`, `/etc/*`) or aim at files with secrets. */
function judgePattern(pattern: string, folder: string, call: ToolCall, gate: Gate): void {
  const reads = call.toolName === "Grep";
  const leaves = pattern.startsWith("/") || pattern.startsWith("~") || pattern.includes("..");
  if (!leaves && !(reads && pattern.includes(".env"))) return;
  const path = pattern.startsWith("~/") ? gate.context.home + pattern.slice(1) : pattern;
  judgePath(gate, [folder.startsWith("/") ? folder : call.cwd], { value: path, glob: true, access: "read" });
}
