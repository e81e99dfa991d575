/** One recorded request to the scripted model server, with the questions that tests ask of it. */
import type { IncomingHttpHeaders } from "node:http";

/**
 * Who asks: Claude's main loop, one of its subagents, its side requests (titles and the like), the decision session (its
 * only tool is `decide`), the reviewer (offers `review`), or any other Pi session.
 */
export type RequestKind = "main" | "subagent" | "side" | "decider" | "reviewer" | "pi";

export interface ContentBlock {
  type: string;
  text?: string;
  id?: string;
  name?: string;
  input?: unknown;
  tool_use_id?: string;
  is_error?: boolean;
  content?: string | ContentBlock[];
}

export interface Message {
  role: string;
  content: string | ContentBlock[];
}

export interface MessagesBody {
  model: string;
  stream: boolean;
  messages: Message[];
  system: string;
  max_tokens?: number;
}

export interface ToolResult {
  toolUseId: string;
  isError: boolean;
  text: string;
}

export interface ToolOffer {
  name: string;
  description?: string;
  /** Only kept for Pi's sessions: Claude's two dozen schemas are 100 KB a request. */
  inputSchema?: unknown;
}

export class ModelRequest {
  /** 0, 1, 2… over all kinds. */
  readonly index: number;
  readonly kind: RequestKind;
  /** Milliseconds since the server started. */
  readonly at: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: MessagesBody;
  readonly tools: readonly ToolOffer[];
  /** `open` until answered; `left` when the client closed its connection before the answer's end. */
  state: "open" | "answered" | "left" = "open";

  constructor(index: number, at: number, headers: IncomingHttpHeaders, raw: unknown) {
    const body = raw as Record<string, unknown>;
    const offered = Array.isArray(body.tools) ? (body.tools as Record<string, unknown>[]) : [];
    this.index = index;
    this.at = at;
    this.headers = headers;
    this.kind = kindOf(headers, offered);
    const fromPi = this.kind === "decider" || this.kind === "reviewer" || this.kind === "pi";
    this.tools = offered.map((tool) => ({
      name: String(tool.name),
      ...(fromPi ? { description: String(tool.description), inputSchema: tool.input_schema } : {}),
    }));
    this.body = {
      model: String(body.model),
      stream: body.stream === true,
      messages: (body.messages ?? []) as Message[],
      system: plainText((body.system ?? "") as string | ContentBlock[]),
      ...(typeof body.max_tokens === "number" ? { max_tokens: body.max_tokens } : {}),
    };
  }

  /** Claude's session id (header `x-claude-code-session-id`, Claude Code 2.1.268). */
  get sessionId(): string | undefined {
    return header(this.headers, "x-claude-code-session-id");
  }

  /** The subagent's id (header `x-claude-code-agent-id`, Claude Code 2.1.268). */
  get agentId(): string | undefined {
    return header(this.headers, "x-claude-code-agent-id");
  }

  get toolNames(): string[] {
    return this.tools.map((tool) => tool.name);
  }

  /**
   * Every text that stands in a user message, oldest first, one entry a text block. Claude's own `<system-reminder>`
   * blocks are left out: nobody said them.
   */
  userTexts(): string[] {
    return this.body.messages
      .filter((message) => message.role === "user")
      .flatMap((message) => textsOf(message.content))
      .filter((block) => !block.startsWith("<system-reminder>"));
  }

  /** The last of `userTexts()`, or "". */
  lastUserText(): string {
    return this.userTexts().at(-1) ?? "";
  }

  /** Every tool result of the conversation, oldest first. */
  toolResults(): ToolResult[] {
    return resultsOf(this.body.messages);
  }

  /** The tool results that came since the last assistant message: what this request tells the model. */
  newToolResults(): ToolResult[] {
    const last = this.body.messages.findLastIndex((message) => message.role === "assistant");
    return resultsOf(this.body.messages.slice(last + 1));
  }

  /** How many assistant messages the conversation has. Claude puts in some of its own after an interruption. */
  assistantCount(): number {
    return this.body.messages.filter((message) => message.role === "assistant").length;
  }

  /** The whole request as text, for "this must not be in what the model was told". */
  everything(): string {
    return `${this.body.system}\n${JSON.stringify(this.body.messages)}`;
  }
}

function kindOf(headers: IncomingHttpHeaders, tools: Record<string, unknown>[]): RequestKind {
  if (!header(headers, "user-agent")?.startsWith("claude-cli/")) {
    const names = tools.map((tool) => tool.name);
    if (names.length === 1 && names[0] === "decide") return "decider";
    return names.includes("review") ? "reviewer" : "pi";
  }
  if (header(headers, "x-claude-code-agent-id") !== undefined) return "subagent";
  return tools.length > 3 ? "main" : "side";
}

function header(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value[0] : value;
}

function resultsOf(messages: readonly Message[]): ToolResult[] {
  return messages.flatMap((message) =>
    typeof message.content === "string"
      ? []
      : message.content
          .filter((block) => block.type === "tool_result")
          .map((block) => ({
            toolUseId: block.tool_use_id ?? "",
            isError: block.is_error === true,
            text: plainText(block.content ?? ""),
          })),
  );
}

function textsOf(content: string | readonly ContentBlock[]): string[] {
  if (typeof content === "string") return [content];
  return content.filter((block) => block.type === "text").map((block) => block.text ?? "");
}

function plainText(content: string | readonly ContentBlock[]): string {
  return textsOf(content).join("\n");
}
