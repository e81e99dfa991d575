/** docs/matrix.md from what each leg did last. Pure. */

export interface Step {
  /** As it was typed. */
  name: string;
  ok: boolean;
  seconds: number;
  /** Last lines of what it printed, when it failed. */
  tail: string;
}

export interface Leg {
  /** Versions that were found, such as 20.20.2 and 11.21.2. */
  node: string;
  npm: string;
  steps: Step[];
  /** SHA-256 of the archive, when it was built. */
  archive?: string;
  /** The first 12 digits of the commit that was cloned. */
  commit: string;
  /** ISO date. */
  date: string;
}

/** `wanted`: what the matrix consists of, as words for people; `legs`: the last result of each, where there is one. */
export function pageOf(wanted: readonly string[], legs: readonly (Leg | undefined)[], platform: string): string {
  const ran = legs.filter((leg) => leg !== undefined);
  const columns = [...new Set(ran.flatMap((leg) => leg.steps.map((step) => step.name)))].sort(
    (a, b) => place(a) - place(b),
  );
  const open = wanted.filter((_, index) => legs[index] === undefined);
  return `# Node and npm

After reading this page you know under which versions of Node and npm this project was set up, checked, built and run, and how to do that yourself.

Written by \`npm run matrix -- --write docs/matrix.md\`, ${platform}. Each row is a fresh clone under a Node and an npm from the npm registry; \`--only=NODE,NPM\` runs some rows, and the others keep their last result of this machine. The demo is the whole loop: the real Pi, the real Claude Code, a scripted model. Pi 1.6.0 needs Node 22.19, so that it does not run on Node 20 ("–"). npm 12 needs Node 22.22, 24.15 or 26. Seconds are of a machine that did other work at the same time; they are no benchmark. \`--full\` adds \`npm test\`, which CI runs under each of these; \`--without=check\` leaves \`npm run check\` out ("not run"), which takes longest.
${open.length === 0 ? "" : `\nNot run on this machine: ${open.join("; ")}.\n`}
| Node | npm | ${columns.map((name) => `\`${name}\``).join(" | ")} | Commit | Date |
|---|---|${columns.map(() => "---|").join("")}---|---|
${ran.map((leg) => `| ${leg.node} | ${leg.npm} | ${columns.map((name) => cell(leg, name)).join(" | ")} | \`${leg.commit}\` | ${leg.date} |`).join("\n")}
${archives(ran)}`;
}

function cell({ steps, node }: Leg, name: string): string {
  const step = steps.find((one) => one.name === name);
  if (step === undefined) return name.endsWith("--pi=1.6.0") && /^(?:20|21)\./.test(node) ? "–" : "not run";
  return `${step.ok ? "ok" : "**failed**"}, ${step.seconds.toFixed(0)} s`;
}

/** Columns in the order in which a leg goes through them. */
function place(name: string): number {
  const order = ["npm ci", "npm run check", "npm run build", "npm run demo --pi=0.73.1", "npm run demo --pi=1.6.0"];
  return (order.indexOf(name) + 100) % 100;
}

function archives(ran: readonly Leg[]): string {
  const built = new Map<string, string[]>();
  for (const { archive, commit, node, npm } of ran) {
    if (archive === undefined) continue;
    const key = `\`${archive.slice(0, 16)}…\` | \`${commit}\``;
    built.set(key, [...(built.get(key) ?? []), `${node} / ${npm}`]);
  }
  if (built.size === 0) return "";
  return `
The archive of a commit is the same for one toolchain; another npm names itself in the bill of materials, another Node brings another zlib.

| SHA-256 of the archive | Commit | Built by Node / npm |
|---|---|---|
${[...built].map(([key, by]) => `| ${key} | ${by.join(", ")} |`).join("\n")}
`;
}
