/** What a manifest must say of its public home before npm publishes it with provenance. Imports nothing. */

export interface Homed {
  repository?: unknown;
  bugs?: unknown;
  homepage?: unknown;
}

/** One sentence, or undefined when all is there. `repository`: owner/name that publishes, where it is known. */
export function homeProblem(manifest: Homed, repository?: string): string | undefined {
  const absent = (["repository", "bugs", "homepage"] as const).filter((field) => manifest[field] === undefined);
  const home = `https://github.com/${repository ?? "OWNER/NAME"}`;
  if (absent.length > 0)
    return `package.json has no ${absent.join(", ")}, and npm refuses provenance without its repository; set them once: npm pkg set repository.type=git repository.url=git+${home}.git bugs.url=${home}/issues homepage=${home}#readme`;
  const named = repositoryOf(manifest.repository);
  if (named === undefined) return "package.json names a repository that is no owner/name address";
  if (repository !== undefined && named !== repository)
    return `package.json names the repository ${named}, this is ${repository}: provenance needs them equal`;
  return undefined;
}

/** owner/name of what `repository` may look like in a manifest. */
function repositoryOf(value: unknown): string | undefined {
  const url = typeof value === "string" ? value : (value as { url?: unknown } | null)?.url;
  return typeof url === "string" ? /([\w.-]+\/[\w.-]+?)(?:\.git)?$/.exec(url)?.[1] : undefined;
}
