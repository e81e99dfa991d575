/**
 * Tokens that say by their prefix what they are. One line each: kind, prefix, what the body is made of, how long it is
 * at least. To teach the redactor a new kind of token, add a line; where the prefix alone would also fit ordinary words
 * (`sk-learn`), `random` asks that the body is not made of words.
 */
import { BASE62, BASE64, BASE64URL, type CharTable, charTable, HEX } from "./chars.ts";

export interface Family {
  kind: string;
  prefix: string;
  body: CharTable;
  min: number;
  /** Longest body; a longer one is another thing. Absent: no upper bound. */
  max?: number;
  /** The body must not look like words. */
  random?: boolean;
  /** The prefix is so special that it counts also in the middle of a word (text glued to it). */
  glued?: boolean;
}

const UPPER_DIGIT = charTable("A-Z0-9");
const DOTTED = charTable("0-9A-Za-z_.-");
const ANY64 = charTable("0-9A-Za-z_+/=-");
const XOX = charTable("0-9A-Za-z%/+.=-");
const LOWER_DIGIT = charTable("a-z0-9");

type Row = [kind: string, prefixes: string, body: CharTable, min: number, more?: Partial<Family>];

const GLUED = { glued: true };
const RANDOM = { random: true };

const ROWS: Row[] = [
  // code hosts, registries, build services
  ["github-token", "ghp_ gho_ ghu_ ghs_ ghr_", BASE62, 30, GLUED],
  ["github-token", "github_pat_", charTable("0-9A-Za-z_"), 22, GLUED],
  ["gitlab-token", "glpat- gldt- glrt- glptt- glft- glimt- glagent- glsoat- gloas- glcbt- glffct-", DOTTED, 18, GLUED],
  ["gitlab-token", "GR1348941", BASE64URL, 18],
  ["npm-token", "npm_", BASE62, 30, GLUED],
  ["pypi-token", "pypi-", BASE64URL, 50],
  ["rubygems-token", "rubygems_", HEX, 40],
  ["crates-token", "cio", BASE62, 32, { max: 32, random: true }],
  ["nuget-token", "oy2", LOWER_DIGIT, 43, { max: 43 }],
  ["clojars-token", "CLOJARS_", BASE62, 50],
  ["docker-token", "dckr_pat_ dckr_oat_", BASE64URL, 20],
  ["bitbucket-token", "ATBB", charTable("0-9A-Za-z_=-"), 24, RANDOM],
  ["atlassian-token", "ATATT3x ATCTT3x", ANY64, 30],
  ["buildkite-token", "bkua_ bkct_", HEX, 40],
  ["circleci-token", "CCIPAT_ CCIPRJ_", charTable("0-9A-Za-z_"), 30],
  ["sonar-token", "sqp_ squ_ sqa_", HEX, 40],
  ["jfrog-token", "AKCp", BASE62, 60],
  ["terraform-token", "atlasv1.", BASE64URL, 40],
  ["pulumi-token", "pul-", HEX, 40],
  // clouds
  ["aws-key-id", "AKIA ASIA ABIA ACCA", UPPER_DIGIT, 16, { max: 16 }],
  ["aws-bedrock-key", "ABSK", ANY64, 100],
  ["aws-bedrock-key", "bedrock-api-key-", ANY64, 40],
  ["gcp-api-key", "AIza", BASE64URL, 35, GLUED],
  ["gcp-token", "ya29.", DOTTED, 20],
  ["gcp-client-secret", "GOCSPX-", BASE64URL, 24],
  ["gcp-refresh-token", "1//0", BASE64URL, 28],
  ["alibaba-key-id", "LTAI", BASE62, 16, { max: 26, random: true }],
  ["digitalocean-token", "dop_v1_ doo_v1_ dor_v1_", HEX, 40, GLUED],
  ["heroku-key", "HRKU-", BASE64URL, 36],
  ["fly-token", "fm1r_ fm2_ fo1_", ANY64, 40],
  ["vault-token", "hvs. hvb. hvr.", BASE64URL, 24],
  ["doppler-token", "dp.pt. dp.st. dp.sa. dp.ct. dp.scim. dp.audit.", DOTTED, 30],
  ["databricks-token", "dapi", charTable("0-9a-f-"), 32],
  ["planetscale-token", "pscale_tkn_ pscale_pw_ pscale_oauth_", charTable("0-9A-Za-z_.=-"), 30],
  ["supabase-key", "sbp_", HEX, 40],
  ["supabase-key", "sb_secret_", BASE64URL, 20],
  ["netlify-token", "nfp_ nfc_ nfo_ nfb_ nfu_", BASE62, 32],
  ["vercel-token", "vcp_ vci_ vca_ vcr_ vck_", BASE62, 20, RANDOM],
  ["render-key", "rnd_", BASE62, 24, RANDOM],
  ["tailscale-key", "tskey-", charTable("0-9A-Za-z-"), 20, RANDOM],
  ["openshift-token", "sha256~", BASE64URL, 40],
  ["cloudflare-key", "v1.0-", charTable("0-9a-f-"), 100],
  ["dynatrace-token", "dt0c01. dt0s01. dt0s16.", DOTTED, 60],
  // models
  ["anthropic-key", "sk-ant-", BASE64URL, 20, GLUED],
  ["openrouter-key", "sk-or-v1-", HEX, 40, GLUED],
  ["openai-key", "sk-proj- sk-svcacct- sk-admin- sk-None-", BASE64URL, 20, GLUED],
  ["api-key", "sk-", BASE64URL, 20, RANDOM],
  ["api-key", "sk_", BASE62, 32, RANDOM],
  ["huggingface-token", "hf_", BASE62, 30, RANDOM],
  ["huggingface-token", "api_org_", BASE62, 30, RANDOM],
  ["groq-key", "gsk_", BASE62, 40],
  ["xai-key", "xai-", BASE62, 60],
  ["replicate-token", "r8_", BASE62, 35],
  ["perplexity-key", "pplx-", BASE62, 40],
  ["nvidia-key", "nvapi-", BASE64URL, 50],
  ["together-key", "tgp_v1_", BASE64URL, 30],
  ["langsmith-key", "lsv2_pt_ lsv2_sk_", charTable("0-9A-Za-z_"), 30],
  ["tavily-key", "tvly-", BASE64URL, 24, RANDOM],
  ["jina-key", "jina_", charTable("0-9A-Za-z_-"), 40],
  // chat, mail, phone
  ["slack-token", "xoxb- xoxp- xoxa- xoxr- xoxs- xoxo- xoxc- xoxd- xoxe- xoxe.xoxb- xoxe.xoxp-", XOX, 10, GLUED],
  ["slack-token", "xapp-", charTable("0-9A-Za-z-"), 24],
  ["discord-token", "mfa.", BASE64URL, 60],
  ["sendgrid-key", "SG.", DOTTED, 40, RANDOM],
  ["brevo-key", "xkeysib- xsmtpsib-", charTable("0-9A-Za-z-"), 60],
  ["mailgun-key", "key-", HEX, 32, { max: 32 }],
  ["twilio-key", "SK", HEX, 32, { max: 32 }],
  // money, shops
  ["stripe-key", "sk_live_ sk_test_ rk_live_ rk_test_ sk_org_live_ sk_org_test_", BASE62, 10, GLUED],
  ["webhook-secret", "whsec_", BASE64, 20],
  ["shopify-token", "shpat_ shpca_ shppa_ shpss_ shpua_ shptka_", HEX, 32],
  ["square-token", "sq0atp- sq0csp- sq0idp-", BASE64URL, 22],
  ["square-token", "EAAA", BASE64URL, 56, RANDOM],
  ["flutterwave-key", "FLWSECK-", BASE64URL, 30],
  ["shippo-token", "shippo_live_ shippo_test_", HEX, 40],
  ["easypost-key", "EZAK EZTK", BASE62, 50],
  ["plaid-token", "access-sandbox- access-development- access-production-", charTable("0-9a-f-"), 36],
  // work tools, monitoring
  ["linear-key", "lin_api_ lin_oauth_", BASE62, 30],
  ["notion-token", "ntn_", BASE62, 40],
  ["notion-token", "secret_", BASE62, 40, RANDOM],
  ["figma-token", "figd_ figo_ figor_", BASE64URL, 30],
  ["airtable-token", "pat", charTable("0-9A-Za-z."), 79, { max: 79, random: true }],
  ["asana-token", "2/", charTable("0-9a-f/:"), 40],
  ["contentful-token", "CFPAT-", BASE64URL, 40],
  ["typeform-token", "tfp_", BASE64URL, 40],
  ["readme-key", "rdme_", LOWER_DIGIT, 60],
  ["postman-key", "PMAK-", charTable("0-9a-f-"), 50],
  ["grafana-token", "glsa_", charTable("0-9A-Za-z_"), 38],
  ["grafana-token", "glc_", ANY64, 32],
  ["newrelic-key", "NRAK- NRII- NRJS- NRRA-", charTable("0-9A-Za-z-"), 19, RANDOM],
  ["sentry-token", "sntrys_ sntryu_ sntrya_", ANY64, 40],
  ["posthog-key", "phx_", BASE62, 40],
  ["segment-token", "sgp_", BASE62, 60],
  ["prefect-key", "pnu_ pnb_", BASE62, 36],
  ["launchdarkly-key", "sdk- api-", charTable("0-9a-f-"), 36, { max: 36 }],
  ["age-key", "AGE-SECRET-KEY-1", UPPER_DIGIT, 50],
];

export const FAMILIES: Family[] = ROWS.flatMap(([kind, prefixes, body, min, more]) =>
  prefixes.split(" ").map((prefix) => ({ kind, prefix, body, min, ...more })),
);

const BY_START = new Map<number, Family[]>();
/** 1 where some family begins with the two characters; index by `startKey`. */
export const FAMILY_START = new Uint8Array(128 * 128);
for (const family of FAMILIES) {
  const key = startKey(family.prefix.charCodeAt(0), family.prefix.charCodeAt(1));
  const same = BY_START.get(key) ?? [];
  BY_START.set(
    key,
    [...same, family].sort((a, b) => b.prefix.length - a.prefix.length),
  );
  FAMILY_START[key] = 1;
}
FAMILY_START[startKey(101, 121)] = 1; // "ey": JSON Web Tokens, see tokens.ts

/** Families whose tokens begin with the two characters, the longest prefix first. */
export function familiesAt(key: number): readonly Family[] {
  return BY_START.get(key) ?? [];
}

export function startKey(first: number, second: number): number {
  return ((first & 127) << 7) | (second & 127);
}

/** Prefixes that count in the middle of a word. */
export const GLUED_FAMILIES: readonly Family[] = FAMILIES.filter((family) => family.glued === true);
