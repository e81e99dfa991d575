/** What the tests of the failure list share: steps of the scripted `claude`, and what it saw of us. */
import type { StoredEvent } from "../../src/core/events.ts";
import type { Stage, Step } from "./stage.ts";

interface Wire {
  type: string;
  message?: { content: string };
  request?: { subtype: string };
}

const lines = (stage: Stage): Wire[] => stage.fake.factsOf("stdin").map(({ line }) => JSON.parse(line) as Wire);

/** The messages that the worker was given, oldest first. */
export function promptsOf(stage: Stage): string[] {
  return lines(stage).flatMap((line) => (line.type === "user" ? [line.message?.content ?? ""] : []));
}

/** What we asked the worker for: `initialize`, `interrupt`… */
export function requestsTo(stage: Stage): string[] {
  return lines(stage).flatMap((line) => (line.type === "control_request" ? [line.request?.subtype ?? ""] : []));
}

export interface HookAnswer {
  permissionDecision: string;
  permissionDecisionReason?: string;
  updatedInput?: Record<string, unknown>;
  /** With a denial: the turn ends too. */
  ends: boolean;
}

/** The answers that its hook calls got, in order. */
export function hookAnswers(stage: Stage): HookAnswer[] {
  return stage.fake.factsOf("note").flatMap((note) => {
    const { hook } = note as unknown as { hook?: { response: Record<string, unknown> } };
    if (hook === undefined) return [];
    const output = hook.response["hookSpecificOutput"] as HookAnswer;
    return [{ ...output, ends: hook.response["continue"] === false }];
  });
}

/** The answers that its `can_use_tool` questions got, in order. */
export function askAnswers(stage: Stage): { behavior: string; updatedPermissions?: unknown; updatedInput?: unknown }[] {
  return stage.fake.factsOf("note").flatMap((note) => {
    const { ask } = note as unknown as { ask?: { response: { behavior: string } } };
    return ask === undefined ? [] : [ask.response];
  });
}

/** A tool call's block, as the main loop or (with `parent`) a subagent makes it. */
export function toolUse(id: string, name: string, input: object, parent?: string): Step {
  return {
    message: {
      type: "assistant",
      message: { id: `msg_${id}`, role: "assistant", content: [{ type: "tool_use", id, name, input }] },
      parent_tool_use_id: parent ?? null,
    },
  };
}

export function toolResult(id: string, content: string, more: object = {}): Step {
  return {
    message: {
      type: "user",
      message: { role: "user", content: [{ type: "tool_result", tool_use_id: id, content, ...more }] },
    },
  };
}

/** One Bash call by the hook (its id is `toolu_<nth call>`). */
export function bashHook(command: string): Step {
  return { hook: { tool: "Bash", input: { command } } };
}

/** The data of the first event of that type. */
export async function dataOf(stage: Stage, taskId: string, type: string): Promise<Readonly<Record<string, unknown>>> {
  const event: StoredEvent | undefined = (await stage.events(taskId)).find((one) => one.type === type);
  return (event?.data ?? {}) as Readonly<Record<string, unknown>>;
}
