/**
 * Lends Pi's SDK to the decision room: a session with one tool and nothing else, on both Pi lines (0.73.1 and 1.6.0).
 * No built-in tool, no extension (ours would load inside the decider), no skill, no context file and no appended system
 * prompt: no project and no repository speaks to it.
 */
import type { AgentSession, ExtensionContext, ToolDefinition } from "@mariozechner/pi-coding-agent";
import type {
  DecideTool,
  DecisionCall,
  DecisionSession,
  DecisionSessionFactory,
  DecisionSessionOptions,
  DecisionTurn,
  HelperTool,
} from "../core/contracts/decision.ts";
import { failure, type Result } from "../core/result.ts";
import { type ModelSource, modelAccess, usableModel } from "./decision-models.ts";
import { piSessions } from "./sdk.ts";

type PiModel = NonNullable<ExtensionContext["model"]>;
type PiEvent = Parameters<Parameters<AgentSession["subscribe"]>[0]>[0];

/**
 * Pi's own retries: it waits 1, 2, 4, … s between them (1.6.0: 60 s at most), so that eight last longer than any
 * decision may. Retries inside the provider's client would hide their reason from us.
 */
const RETRY = { enabled: true, maxRetries: 8, baseDelayMs: 1_000, provider: { maxRetries: 0 } };
/** How often a failure that is neither a rate limit nor an overload is tried again. */
const MAX_OTHER_RETRIES = 2;
/** What more waiting mends. A used-up quota or an unpaid bill also arrives as 429. */
const WAITABLE = /\b(?:429|529)\b|rate.?limit|too many requests|overloaded/i;
const NOT_WAITABLE = /quota|billing|credit|payment|spend|insufficient/i;

/**
 * Reads `ctx` at once and keeps nothing of it but Pi's list of models: the factory outlives the session that made it.
 * Pi's current model is the one at this moment.
 */
export function decisionFactory(ctx: Pick<ExtensionContext, "model" | "modelRegistry">): DecisionSessionFactory {
  const source: ModelSource = { current: ctx.model, registry: ctx.modelRegistry };
  return {
    open: (options) => openSession(source, options),
    usable: (model) => {
      const found = usableModel(source, model);
      return found.ok ? { ok: true } : found;
    },
  };
}

/** The same for whoever outlives the command that read `ctx`: the models are those that the newest command found. */
export function lentDecisions(
  models: () => Pick<ExtensionContext, "model" | "modelRegistry"> | undefined,
): DecisionSessionFactory {
  const present = (): Result<{ factory: DecisionSessionFactory }> => {
    const now = models();
    return now === undefined
      ? failure("no-model", "Pi's models are not known yet.")
      : { ok: true, factory: decisionFactory(now) };
  };
  return {
    async open(options) {
      const found = present();
      return found.ok ? found.factory.open(options) : found;
    },
    usable(model) {
      const found = present();
      return found.ok ? found.factory.usable(model) : found;
    },
  };
}

/** Reasons: `no-model` (none chosen, none of that name, no login), `session` (the file or Pi refused). */
async function openSession(
  source: ModelSource,
  options: DecisionSessionOptions,
): Promise<Result<{ session: DecisionSession }>> {
  const found = await modelAccess(source, options.model);
  if (!found.ok) return found;
  try {
    return { ok: true, session: await startSession(found.model, found.access, options) };
  } catch (error) {
    return failure("session", `Pi could not open the decider's session: ${messageOf(error)}`);
  }
}

async function startSession(model: PiModel, access: object, options: DecisionSessionOptions): Promise<DecisionSession> {
  const { folder, file, systemPrompt, tool, helpers = [], isKept = true } = options;
  const agentDir = piSessions.getAgentDir();
  const settingsManager = piSessions.SettingsManager.inMemory({ compaction: { enabled: false }, retry: RETRY });
  const resourceLoader = new piSessions.DefaultResourceLoader({
    cwd: folder,
    agentDir,
    settingsManager,
    noExtensions: true,
    noSkills: true,
    noPromptTemplates: true,
    noThemes: true,
    noContextFiles: true,
    systemPrompt,
    appendSystemPrompt: [],
  });
  await resourceLoader.reload();
  const fresh = () =>
    isKept ? piSessions.SessionManager.create(folder, folder) : piSessions.SessionManager.inMemory(folder);
  const sessionManager = file === undefined ? fresh() : piSessions.SessionManager.open(file, folder, folder);
  const { session } = await piSessions.createAgentSession({
    cwd: folder,
    agentDir,
    model,
    settingsManager,
    resourceLoader,
    sessionManager,
    tools: [tool.name, ...helpers.map((helper) => helper.name)],
    customTools: [toolDefinition(tool), ...helpers.map(helperDefinition)],
    ...access,
  });
  return wrap(session, model, new Set(helpers.map((helper) => helper.name)));
}

function toolDefinition(tool: DecideTool): ToolDefinition {
  return {
    name: tool.name,
    label: tool.name,
    description: tool.description,
    parameters: tool.parameters as ToolDefinition["parameters"],
    // `terminate` spares the second request that would only hear "noted" (both lines).
    execute: async () => ({ content: [{ type: "text", text: "Noted." }], details: {}, terminate: true }),
  };
}

/** A tool of ours under the name of one of Pi's stands in its place (both lines). */
function helperDefinition(helper: HelperTool): ToolDefinition {
  return {
    name: helper.name,
    label: helper.name,
    description: helper.description,
    parameters: helper.parameters as ToolDefinition["parameters"],
    execute: async (_id, args, signal) => {
      const text = await helper.run(args, signal ?? new AbortController().signal);
      return { content: [{ type: "text", text }], details: {} };
    },
  };
}

function wrap(session: AgentSession, model: PiModel, helpers: ReadonlySet<string>): DecisionSession {
  const hasPrice = Object.values(model.cost ?? {}).some((rate) => typeof rate === "number" && rate > 0);
  let isDisposed = false;
  return {
    file: session.sessionFile,
    resumed: session.messages.length > 0,
    model: `${model.provider}/${model.id}`,
    contextWindow: model.contextWindow,
    async prompt(text, signal) {
      const heard = listen(session, hasPrice, helpers, signal);
      const abort = (): void => end(session);
      signal.addEventListener("abort", abort, { once: true });
      try {
        if (!signal.aborted) await session.prompt(text, { expandPromptTemplates: false });
        return heard.turn();
      } finally {
        signal.removeEventListener("abort", abort);
        heard.end();
      }
    },
    dispose() {
      if (isDisposed) return;
      isDisposed = true;
      end(session); // 0.73.1 lets a running prompt go on
      session.dispose();
    },
  };
}

/**
 * The calls are read from the assistant's messages, not from the tool: arguments that fail Pi's validation never reach
 * the tool, and Pi would ask the model again until it gets them right. Here the first answer counts.
 */
function listen(
  session: AgentSession,
  hasPrice: boolean,
  helpers: ReadonlySet<string>,
  signal: AbortSignal,
): { turn(): DecisionTurn; end(): void } {
  const calls: DecisionCall[] = [];
  let error: string | undefined;
  let cost = 0;
  let contextTokens: number | undefined;
  let otherRetries = 0;
  /** The model has spoken, whole or cut off; what Pi makes of it then is stopped and not heard. */
  let isOver = false;

  const unsubscribe = session.subscribe((event: PiEvent) => {
    // An abort that came before Pi had begun to run was not heard (0.73.1).
    if (event.type === "turn_start" && (isOver || signal.aborted)) end(session);
    if (event.type === "auto_retry_start") {
      const isWaitable = WAITABLE.test(event.errorMessage) && !NOT_WAITABLE.test(event.errorMessage);
      // Pi makes the wait's abort controller right after this event (both lines).
      if (!isWaitable && ++otherRetries > MAX_OTHER_RETRIES) setImmediate(() => session.abortRetry());
    }
    if (event.type !== "message_end" || event.message.role !== "assistant" || isOver) return;
    const { content, usage, stopReason, errorMessage } = event.message;
    cost += usage?.cost?.total ?? 0;
    error = faultOf(stopReason, errorMessage);
    const called = content.filter((block) => block.type === "toolCall");
    const answers = called.filter((block) => !helpers.has(block.name));
    const onlyLooks = called.length > 0 && answers.length === 0;
    isOver = (error === undefined && !onlyLooks) || stopReason === "length";
    if (error !== undefined) return;
    contextTokens = usage?.totalTokens;
    for (const block of answers) calls.push({ name: block.name, arguments: block.arguments });
  });
  return {
    turn: () => ({
      calls,
      ...(error === undefined ? {} : { error }),
      ...(hasPrice ? { usd: cost } : {}),
      ...(contextTokens === undefined ? {} : { contextTokens }),
    }),
    end: unsubscribe,
  };
}

/** Ends what the session does; that nothing ran is fine, and a rejection here would end all of Pi. */
function end(session: AgentSession): void {
  session.abort().catch(() => undefined);
}

/** An answer that the output limit cut off may hold half a call, which Pi reads as a whole one. */
function faultOf(stopReason: string, errorMessage: string | undefined): string | undefined {
  if (stopReason === "error" || stopReason === "aborted") return errorMessage ?? stopReason;
  return stopReason === "length" ? "The answer was cut off at the model's output limit." : undefined;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
