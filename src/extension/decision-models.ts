/**
 * Which model decides, and how Pi's session comes by its login. Models of `models.json` and the built-in ones need
 * nothing; those of providers that another extension registered are known to the running Pi alone, and the two lines lend
 * them in different ways (0.73.1: its registry; 1.6.0: a runtime that the providers are copied to).
 */
import type { ExtensionContext } from "@mariozechner/pi-coding-agent";
import { failure, type Result } from "../core/result.ts";
import { modelRuntimeClass, piSessions } from "./sdk.ts";

type PiModel = NonNullable<ExtensionContext["model"]>;

export interface ModelSource {
  current: PiModel | undefined;
  registry: ExtensionContext["modelRegistry"];
}

/** What is used of 1.6.0's `ModelRuntime`. */
interface Runtime {
  registerProvider(id: string, config: unknown): void;
  registerNativeProvider?(provider: unknown): void;
  hasConfiguredAuth(id: string): boolean;
  setRuntimeApiKey(id: string, key: string): Promise<void>;
}

/** What 1.6.0's registry knows of the providers that extensions registered. */
interface RegisteredProviders {
  getRegisteredProviderIds(): readonly string[];
  getRegisteredProviderConfig(id: string): unknown;
  getRegisteredNativeProvider?(id: string): unknown;
}

/** The model that is meant, with a login. Reason: `no-model`. */
export function usableModel(source: ModelSource, wanted: string | undefined): Result<{ model: PiModel }> {
  const found = wanted === undefined ? currentModel(source) : namedModel(source, wanted);
  if (!found.ok) return found;
  const { model } = found;
  if (source.registry.hasConfiguredAuth(model)) return found;
  return failure(
    "no-model",
    `Pi has no login for ${model.provider}/${model.id}, so nothing can be decided automatically. Log in with /login, or choose another with --decision-model.`,
  );
}

/** `access` goes into `createAgentSession`. Reason: `no-model`. */
export async function modelAccess(
  source: ModelSource,
  wanted: string | undefined,
): Promise<Result<{ model: PiModel; access: object }>> {
  const found = usableModel(source, wanted);
  if (!found.ok) return found;
  const { model } = found;
  const runtimeClass = modelRuntimeClass();
  if (!canCreate(runtimeClass)) return { ok: true, model, access: { modelRegistry: source.registry } };
  return { ok: true, model, access: { modelRuntime: await runtimeFor(runtimeClass, model, source.registry) } };
}

function currentModel({ current }: ModelSource): Result<{ model: PiModel }> {
  if (current !== undefined) return { ok: true, model: current };
  return failure(
    "no-model",
    "Pi has no model chosen, so nothing can be decided automatically. Choose one with /model, or give --decision-model provider/id.",
  );
}

/** `provider/id`, where the id may hold slashes itself; an id alone where only one provider has it. */
function namedModel({ registry }: ModelSource, wanted: string): Result<{ model: PiModel }> {
  const slash = wanted.indexOf("/");
  const exact = slash > 0 ? registry.find(wanted.slice(0, slash), wanted.slice(slash + 1)) : undefined;
  if (exact !== undefined) return { ok: true, model: exact };
  const same = registry.getAll().filter((model) => model.id === wanted);
  const withLogin = same.filter((model) => registry.hasConfiguredAuth(model));
  const [only, ...others] = withLogin.length > 0 ? withLogin : same;
  if (only !== undefined && others.length === 0) return { ok: true, model: only };
  const provider = slash > 0 ? wanted.slice(0, slash) : undefined;
  const available = registry.getAvailable();
  const near = same.length > 0 ? same : available.filter((model) => model.provider === provider);
  const known = (near.length > 0 ? near : available).slice(0, 5).map((one) => `${one.provider}/${one.id}`);
  return failure(
    "no-model",
    `Pi knows no model ${JSON.stringify(wanted.slice(0, 100))}. Give --decision-model provider/id${known.length > 0 ? `, for instance ${known.join(", ")}` : ""}.`,
  );
}

async function runtimeFor(
  runtimeClass: { create(options: object): Promise<Runtime> },
  model: PiModel,
  registry: ModelSource["registry"],
): Promise<Runtime> {
  const agentDir = piSessions.getAgentDir();
  const runtime = await runtimeClass.create({
    authPath: `${agentDir}/auth.json`,
    modelsPath: `${agentDir}/models.json`,
  });
  if (hasRegistered(registry)) {
    for (const id of registry.getRegisteredProviderIds()) {
      const native = registry.getRegisteredNativeProvider?.(id);
      const config = registry.getRegisteredProviderConfig(id);
      if (native !== undefined) runtime.registerNativeProvider?.(native);
      else if (config !== undefined) runtime.registerProvider(id, config);
    }
  }
  // A key that was given to this Pi alone (`--api-key`) is in no file.
  if (!runtime.hasConfiguredAuth(model.provider)) {
    const key = await registry.getApiKeyForProvider(model.provider);
    if (key !== undefined) await runtime.setRuntimeApiKey(model.provider, key);
  }
  return runtime;
}

function canCreate(value: unknown): value is { create(options: object): Promise<Runtime> } {
  return typeof value === "function" && "create" in value && typeof value.create === "function";
}

function hasRegistered(registry: object): registry is RegisteredProviders {
  return "getRegisteredProviderIds" in registry && typeof registry.getRegisteredProviderIds === "function";
}
