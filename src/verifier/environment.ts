/**
 * What a verification command sees: a short list of host variables by name, never the worker's environment. Relative
 * PATH entries are dropped: they would be looked up in the workspace, where the worker can put a program.
 */
import { isAbsolute } from "node:path";

const PLAIN = (
  "HOME USER LOGNAME SHELL LANG LANGUAGE TZ XDG_CACHE_HOME XDG_CONFIG_HOME XDG_DATA_HOME XDG_RUNTIME_DIR " +
  // Where tool chains are installed: without them shims and wrappers do not start.
  "JAVA_HOME GOROOT GOPATH GOCACHE GOMODCACHE CARGO_HOME RUSTUP_HOME PYENV_ROOT RBENV_ROOT NVM_DIR VOLTA_HOME " +
  "ASDF_DIR ASDF_DATA_DIR MISE_DATA_DIR PNPM_HOME BUN_INSTALL DENO_DIR COREPACK_HOME DOTNET_ROOT ANDROID_HOME"
).split(" ");

export interface EnvironmentInput {
  hostEnv: Readonly<Record<string, string | undefined>>;
  /** Names that the person asked for beside the list. */
  envNames: readonly string[];
  /** A fresh folder of this run. */
  tmpDir: string;
}

export function verifyEnvironment(input: EnvironmentInput): Record<string, string> {
  const env: Record<string, string> = { LANG: "C.UTF-8" };
  for (const [name, value] of Object.entries(input.hostEnv)) {
    if (value === undefined) continue;
    if (PLAIN.includes(name) || name.startsWith("LC_") || input.envNames.includes(name)) env[name] = value;
  }
  const path = (input.hostEnv.PATH ?? "").split(":").filter((folder) => isAbsolute(folder));
  env.PATH = path.length > 0 ? path.join(":") : "/usr/local/bin:/usr/bin:/bin";
  env.TMPDIR = input.tmpDir;
  env.TERM = "dumb";
  env.GIT_TERMINAL_PROMPT = "0";
  return env;
}
