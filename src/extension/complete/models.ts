/** Names of models, for `--decision-model` (Pi's) and `--model` (Claude Code's). */
import type { Models } from "../session-binding.ts";

/** Aliases that `claude --model` takes (2.1.268); any full name is taken too. */
export const claudeModels: readonly string[] = ["opus", "sonnet", "haiku"];

/** `provider/id` of the models that Pi has a login for; empty before the first command, and where Pi can't say. */
export function piModels(models: Models | undefined): string[] {
  try {
    return (models?.modelRegistry.getAvailable() ?? []).map(({ provider, id }) => `${provider}/${id}`);
  } catch {
    return []; // a keystroke must not fail
  }
}
