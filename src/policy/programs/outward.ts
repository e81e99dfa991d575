/**
 * Programs that act where others see it: forges, registries, clouds. Reading there is asked; what changes something is
 * a person's. Each line names the verbs that change something; `*` means every verb does.
 */
import { describe, type Invocation, type ProgramTable } from "../invocation.ts";
import { type Flow, FROM_NETWORK } from "../shell/flow.ts";
import { readable } from "../shell/marks.ts";
import { judgeClaudeWords } from "./claude.ts";
import { program } from "./reader.ts";
import { sweepPaths } from "./sweep.ts";

const ACTS: Readonly<Record<string, string>> = {
  gh: "create merge close reopen comment edit delete review ready lock unlock pin unpin transfer develop fork sync rename archive unarchive upload set add remove enable disable run rerun cancel login logout refresh import publish approve dispatch POST PUT PATCH DELETE",
  glab: "create merge close reopen note update delete approve revoke rebase fork upload set run retry cancel login POST PUT PATCH DELETE",
  hub: "create push pull-request release merge fork delete sync",
  tea: "create merge close reopen edit delete approve reject comment",
  az: "create update delete set add remove start stop restart deploy publish push upload up purge import login assign",
  aws: "put create delete update deploy publish send invoke run start stop terminate modify attach detach register deregister cp mv sync rm mb rb import restore reboot associate authorize revoke tag untag set execute",
  gcloud:
    "create update delete deploy set add remove start stop reset submit publish upload import enable disable patch promote migrate rollback cp mv rm rsync",
  gsutil: "cp mv rm rsync mb rb setmeta acl iam defacl web notification",
  kubectl:
    "apply create delete replace patch edit scale autoscale rollout set label annotate expose run exec attach cp drain cordon uncordon taint certificate debug port-forward proxy",
  oc: "apply create delete replace patch edit scale rollout set label annotate expose run exec new-app start-build tag adm",
  helm: "install upgrade uninstall rollback push test registry",
  helmfile: "apply sync destroy delete",
  kustomize: "edit",
  argocd: "*",
  flux: "*",
  terraform: "apply destroy import taint untaint state force-unlock push login workspace",
  tofu: "apply destroy import taint untaint state force-unlock push login workspace",
  terragrunt: "apply destroy import run-all state",
  pulumi: "up update destroy import refresh cancel stack config login",
  cdk: "deploy destroy bootstrap import",
  sam: "deploy delete sync publish",
  serverless: "deploy remove invoke rollback",
  sls: "deploy remove invoke rollback",
  ansible: "*",
  "ansible-playbook": "*",
  fly: "*",
  flyctl: "*",
  heroku: "*",
  vercel: "*",
  netlify: "*",
  wrangler: "*",
  firebase: "*",
  surge: "*",
  railway: "*",
  doctl: "*",
  eb: "*",
  cap: "*",
  fastlane: "*",
  skaffold: "run deploy dev delete apply",
  goreleaser: "release publish announce continue",
  "semantic-release": "*",
  "release-it": "*",
  "release-please": "*",
  np: "*",
  bumpp: "*",
  changeset: "publish tag",
  vsce: "publish unpublish login",
  ovsx: "publish",
  twine: "upload register",
  gem: "push yank owner signin",
  "gh-pages": "*",
  supabase: "push deploy link login reset",
  prisma: "deploy push reset",
  sentry: "*",
  "sentry-cli": "*",
  slack: "*",
  ngrok: "*",
  cloudflared: "*",
  localtunnel: "*",
  lt: "*",
  tailscale: "*",
};

/** They show credentials. */
const SHOWS_CREDENTIALS: Readonly<Record<string, RegExp>> = {
  gh: /\bauth (?:token|status .*-t|status .*--show-token)\b/,
  gcloud: /\bprint-(?:access|identity)-token\b/,
  aws: /\bconfigure (?:get|export-credentials)\b|\bget-(?:session-token|login-password|authorization-token|secret-value)\b/,
  az: /\bget-access-token\b|\bsecret show\b/,
};

const SECRET_STORES =
  "security secret-tool pass gopass bw keyctl kwallet-query gpg gpg2 age vault chamber keyring lpass dashlane".split(
    " ",
  );

export const OUTWARD: ProgramTable = {
  ...Object.fromEntries(Object.keys(ACTS).map((name) => [name, program("acts where others see it", outward)])),
  ...Object.fromEntries(SECRET_STORES.map((name) => [name, program("keeps secrets", secrets)])),
};

function outward(call: Invocation): Flow {
  const { gate, args } = call;
  const subject = readable(describe(call));
  const acts = ACTS[call.name] ?? "*";
  const words = args.map((arg) => arg.value);
  const verbs = words.filter((word) => !word.startsWith("-")).slice(0, 5);
  gate.report.review("outward.reads", "It speaks with a service that others use.", subject);
  if (
    acts === "*"
      ? !(words.length === 1 && /^--?(?:v|version|h|help)$/.test(words[0] ?? ""))
      : actsOut(acts.split(" "), words, verbs)
  ) {
    gate.report.person("outward.acts", "Others would see what it does.", subject);
  }
  if (SHOWS_CREDENTIALS[call.name]?.test(words.join(" ")) === true)
    gate.report.person("credentials.shown", "It shows a credential.", subject);
  judgeClaudeWords(call);
  sweepPaths(call, args);
  return FROM_NETWORK;
}

/** A verb counts as itself and with an ending, as in `create-stack`; `api` calls by their method or fields. */
function actsOut(acts: readonly string[], words: readonly string[], verbs: readonly string[]): boolean {
  if (verbs.some((verb) => acts.some((act) => verb === act || verb.startsWith(`${act}-`)))) return true;
  const method = words.findIndex((word) => word === "-X" || word === "--method" || word === "--request");
  if (method >= 0 && acts.includes((words[method + 1] ?? "").toUpperCase())) return true;
  return (
    verbs[0] === "api" &&
    words.some(
      (word) =>
        /^(?:-[fF]|--field|--raw-field|--input)(?:=|$)/.test(word) ||
        (/^(?:-X|--method=)(?!GET)/i.test(word) && word !== "-X"),
    )
  );
}

function secrets(call: Invocation): undefined {
  call.gate.report.review("credentials.store", "It opens a store of secrets or keys.", readable(describe(call)));
  sweepPaths(call, call.args);
  return undefined;
}
