/** The rules of our workflows: pinned actions, least permissions, one gate over everything, a release of what was tested. */
import { parse } from "yaml";

type Json = Readonly<Record<string, unknown>>;

export interface Job {
  name?: string;
  needs?: string | readonly string[];
  if?: string;
  uses?: string;
  with?: Json;
  environment?: unknown;
  permissions?: Readonly<Record<string, string>>;
  "timeout-minutes"?: number;
  strategy?: { matrix?: { include?: readonly Json[]; node?: readonly unknown[] } };
  steps?: readonly { uses?: string; run?: string; with?: Json; env?: Json }[];
}

export interface Workflow {
  on: Json;
  permissions?: Json;
  concurrency?: Json;
  jobs: Readonly<Record<string, Job>>;
}

/** What a job may write; everything else only reads. */
const WRITES: Readonly<Record<string, readonly string[]>> = {
  "release.yml propose": ["contents", "pull-requests"],
  "release.yml publish": ["id-token"],
  "release.yml attach": ["contents"],
};

/** Combinations that CI has to have; npm 12 does not run on Node 20 and 22.19. */
const NODES = ["20.x", "22.19.0", "24", "26"];
const NPMS = ["10", "11", "12"];

export interface Pin {
  file: string;
  action: string;
  sha: string;
  tag: string;
}

/** `files`: text by name, of `.github/workflows` and `dependabot.yml`. `scripts`: names that `npm run` knows. */
export function workflowProblems(files: Readonly<Record<string, string>>, scripts: readonly string[]): string[] {
  const found: string[] = [];
  for (const [file, text] of Object.entries(files)) {
    const say = (what: string): void => void found.push(`${file}: ${what}`);
    checkText(text, scripts, say);
    if (file === "dependabot.yml") checkDependabot(parse(text), say);
    else {
      const workflow = parse(text) as Workflow;
      checkWorkflow(file, workflow, say);
      if (file === "ci.yml") checkCi(workflow, say);
      if (file === "release.yml") checkRelease(workflow, say);
    }
  }
  for (const name of ["ci.yml", "release.yml", "pr-title.yml", "dependabot.yml"])
    if (!(name in files)) found.push(`${name} is missing`);
  return found;
}

/** Every action of another repository, as it is pinned. */
export function pins(files: Readonly<Record<string, string>>): Pin[] {
  return Object.entries(files).flatMap(([file, text]) =>
    [...text.matchAll(/uses: ([\w.-]+\/[\w.-]+)@([0-9a-f]{40}) # (v\d+\.\d+\.\d+)$/gm)].map((match) => ({
      file,
      action: match[1] ?? "",
      sha: match[2] ?? "",
      tag: match[3] ?? "",
    })),
  );
}

function checkText(text: string, scripts: readonly string[], say: (what: string) => void): void {
  for (const [line] of text.matchAll(/^.*\buses: .*$/gm)) {
    const pinned = /uses: (?:\.\/\S+|[\w.-]+\/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+)$/.test(line);
    if (!pinned) say(`not pinned by commit with its version beside it: ${line.trim()}`);
  }
  for (const [, name = ""] of text.matchAll(/npm run ([\w:-]+)/g))
    if (!scripts.includes(name)) say(`npm run ${name} does not exist`);
  if (/registry[.-]\w+\.\w+|\bnpm_[A-Za-z0-9]{20,}/.test(text)) say("names a registry or holds a token");
}

function checkWorkflow(file: string, workflow: Workflow, say: (what: string) => void): void {
  if (workflow.permissions === undefined || Object.keys(workflow.permissions).length > 0)
    say("permissions of the whole workflow are not {}");
  if (workflow.concurrency === undefined) say("no concurrency group");
  if ("pull_request_target" in workflow.on) say("pull_request_target runs with the secrets of this repository");
  for (const [id, job] of Object.entries(workflow.jobs)) {
    if (job.permissions === undefined) say(`job ${id} states no permissions`);
    const written = Object.entries(job.permissions ?? {}).filter(([, level]) => level !== "read" && level !== "none");
    const allowed = WRITES[`${file} ${id}`] ?? [];
    for (const [scope] of written) if (!allowed.includes(scope)) say(`job ${id} may write ${scope}`);
    if (job.uses === undefined && job["timeout-minutes"] === undefined) say(`job ${id} has no timeout`);
    for (const step of job.steps ?? []) checkStep(id, step, say);
  }
}

function checkStep(id: string, step: { uses?: string; run?: string; with?: Json }, say: (what: string) => void): void {
  // Text of others that is put into a script becomes a part of the script; by `env:` it stays text.
  if (step.run?.includes("${{")) say(`job ${id} puts an expression into a script`);
  if (step.uses?.startsWith("actions/checkout@") && step.with?.["persist-credentials"] !== false)
    say(`job ${id} leaves git's token in the checkout`);
}

function checkCi({ on, jobs }: Workflow, say: (what: string) => void): void {
  if (!("workflow_call" in on)) say("cannot be called by the release");
  const legs = jobs["test"]?.strategy?.matrix?.include ?? [];
  for (const node of NODES) if (!legs.some((leg) => String(leg["node"]) === node)) say(`no tests on Node ${node}`);
  for (const npm of NPMS) if (!legs.some((leg) => String(leg["npm"]) === npm)) say(`no tests with npm ${npm}`);
  const runs = Object.values(jobs).flatMap((job) => (job.steps ?? []).map((step) => step.run ?? ""));
  for (const wanted of [
    "npm run check",
    "npm test",
    "npm run test:pi",
    "npm run test:soak",
    "npm run tasks",
    "npm run test:install",
    "npm run build",
    "npm audit --audit-level=high",
  ])
    if (!runs.some((run) => run.split("\n").includes(wanted))) say(`nobody runs ${wanted}`);
  const gate = jobs["gate"];
  if (gate?.name !== "Quality gate") {
    say("no job Quality gate");
    return;
  }
  const others = Object.keys(jobs).filter((id) => id !== "gate");
  if (JSON.stringify(gate.needs) !== JSON.stringify(others))
    say(`Quality gate does not need exactly ${others.join(", ")}`);
  if (gate.if !== expression("always()"))
    say("Quality gate is skipped when a job before it fails, and skipped counts as passed");
  const all = others.map(() => "success").join(" ");
  const step = gate.steps?.[0];
  if (
    step?.env?.["RESULTS"] !== expression("join(needs.*.result, ' ')") ||
    !step.run?.includes(`[ "$RESULTS" = "${all}" ]`)
  )
    say("Quality gate does not compare every result with success");
}

function checkRelease({ on, jobs, concurrency }: Workflow, say: (what: string) => void): void {
  const dispatch = on["workflow_dispatch"] as { inputs?: { tag?: { required?: boolean } } } | undefined;
  if (dispatch?.inputs?.tag?.required !== true) say("cannot be tried again by hand with a tag");
  if (concurrency?.["cancel-in-progress"] !== false) say("a release may be cancelled in the middle");
  const { target, ci, publish, attach } = jobs;
  const script = (job: Job | undefined): string => (job?.steps ?? []).map((step) => step.run ?? "").join("\n");
  if (!script(target).includes("scripts/release-target.ts")) say("the tag is not checked");
  if (ci?.uses !== "./.github/workflows/ci.yml") say("CI does not run");
  if (ci?.with?.["ref"] !== expression("needs.target.outputs.sha")) say("CI does not run on the tag's commit");
  if (!needs(publish).includes("ci") || !needs(publish).includes("target")) say("publishes without CI");
  if (!publish?.if?.includes("needs.ci.result == 'success'")) say("publishes when CI did not succeed");
  if (publish?.environment !== "npm") say("publishes outside of the environment npm");
  if (publish?.permissions?.["id-token"] !== "write") say("the publishing job cannot prove where it comes from");
  if (!script(publish).includes("scripts/release-publish.ts")) say("publishes by something else than release-publish");
  if (/npm (?:ci|install|pack)|npm run build/.test(script(publish)))
    say("publishes something else than what CI has built");
  const uploaded = /^gh release upload .*$/m.exec(script(attach))?.[0] ?? "";
  for (const name of ["*.tgz", "release-manifest.json", "SHA256SUMS", "sbom.cdx.json"])
    if (!uploaded.includes(name)) say(`${name} is not attached`);
  if (!needs(attach).includes("publish")) say("files are attached before they are published");
}

function expression(text: string): string {
  return `\${{ ${text} }}`;
}

function needs(job: Job | undefined): readonly string[] {
  return typeof job?.needs === "string" ? [job.needs] : (job?.needs ?? []);
}

function checkDependabot(value: unknown, say: (what: string) => void): void {
  const { updates = [] } = value as {
    updates?: { "package-ecosystem": string; groups?: Record<string, { "update-types"?: string[] }> }[];
  };
  for (const ecosystem of ["npm", "github-actions"]) {
    const update = updates.find((one) => one["package-ecosystem"] === ecosystem);
    const types = Object.values(update?.groups ?? {}).flatMap((group) => group["update-types"] ?? []);
    if (types.sort().join() !== "minor,patch") say(`${ecosystem} is not updated with minor and patch in one group`);
  }
}
