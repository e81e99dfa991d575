/** The fields each tool is known to have. A field that is not listed is reviewed; a wrong type is refused by asking. */

export type FieldKind = "text" | "path" | "number" | "flag" | "list" | "any";

export interface Shape {
  required: Readonly<Record<string, FieldKind>>;
  optional: Readonly<Record<string, FieldKind>>;
}

/** Source: tool schemas that Claude Code 2.1.268 sends to the model. */
export const SHAPES: Readonly<Record<string, Shape>> = {
  Read: { required: { file_path: "path" }, optional: { offset: "number", limit: "number", pages: "text" } },
  Glob: { required: { pattern: "text" }, optional: { path: "path" } },
  Grep: {
    required: { pattern: "text" },
    optional: {
      path: "path",
      glob: "text",
      type: "text",
      output_mode: "text",
      "-A": "number",
      "-B": "number",
      "-C": "number",
      context: "number",
      "-n": "flag",
      "-i": "flag",
      "-o": "flag",
      head_limit: "number",
      offset: "number",
      multiline: "flag",
    },
  },
  Edit: { required: { file_path: "path", old_string: "text", new_string: "text" }, optional: { replace_all: "flag" } },
  MultiEdit: { required: { file_path: "path", edits: "list" }, optional: {} },
  Write: { required: { file_path: "path", content: "text" }, optional: {} },
  NotebookEdit: {
    required: { notebook_path: "path", new_source: "text" },
    optional: { cell_id: "text", cell_type: "text", edit_mode: "text" },
  },
  Bash: {
    required: { command: "text" },
    optional: { description: "text", timeout: "number", run_in_background: "flag", dangerouslyDisableSandbox: "flag" },
  },
  TodoWrite: { required: { todos: "list" }, optional: {} },
  TaskOutput: { required: { task_id: "text" }, optional: { block: "flag", timeout: "number" } },
  TaskStop: { required: {}, optional: { task_id: "text", shell_id: "text" } },
  Agent: {
    required: { prompt: "text" },
    optional: {
      description: "text",
      subagent_type: "text",
      model: "text",
      mode: "text",
      run_in_background: "flag",
      name: "text",
    },
  },
  WebFetch: { required: { url: "text" }, optional: { prompt: "text" } },
  WebSearch: { required: { query: "text" }, optional: { allowed_domains: "list", blocked_domains: "list" } },
};

export type Fields = Readonly<Record<string, unknown>>;

export interface ShapeProblem {
  kind: "malformed" | "unknown-field";
  field: string;
}

/** Own fields only: an input may be made to look like it has inherited ones. */
export function checkShape(shape: Shape, input: unknown): { fields: Fields; problems: ShapeProblem[] } {
  if (typeof input !== "object" || input === null || Array.isArray(input)) {
    return { fields: {}, problems: [{ kind: "malformed", field: "input" }] };
  }
  const fields = input as Fields;
  const problems: ShapeProblem[] = [];
  for (const [name, kind] of Object.entries(shape.required)) {
    if (!Object.hasOwn(fields, name) || !isKind(fields[name], kind)) problems.push({ kind: "malformed", field: name });
  }
  for (const name of Object.keys(fields)) {
    if (Object.hasOwn(shape.required, name)) continue;
    const kind = Object.hasOwn(shape.optional, name) ? shape.optional[name] : undefined;
    if (kind === undefined) problems.push({ kind: "unknown-field", field: name });
    else if (fields[name] !== undefined && !isKind(fields[name], kind))
      problems.push({ kind: "malformed", field: name });
  }
  return { fields, problems };
}

function isKind(value: unknown, kind: FieldKind): boolean {
  switch (kind) {
    case "text":
    case "path":
      return typeof value === "string";
    case "number":
      return typeof value === "number" && Number.isFinite(value);
    case "flag":
      return typeof value === "boolean";
    case "list":
      return Array.isArray(value);
    case "any":
      return true;
  }
}
