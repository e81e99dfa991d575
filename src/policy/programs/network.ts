/** Programs that reach the network: reading is asked (free in the open profile), sending is a person's, names made by an expansion are denied. */
import { describe, type Invocation, type ProgramTable } from "../invocation.ts";
import { flagTable, flagValue, has, scan } from "../options.ts";
import { judgePath } from "../paths/access.ts";
import { type Flow, FROM_NETWORK } from "../shell/flow.ts";
import { hasMark, readable } from "../shell/marks.ts";
import type { Arg } from "../shell/words.ts";
import { hostKind } from "../tools/web.ts";
import { judgeFlags, program } from "./reader.ts";
import { sweepPaths } from "./sweep.ts";
import { quote } from "./wrappers.ts";

export const NETWORK_PROGRAMS: ProgramTable = {
  curl: program("speaks with servers", curl),
  wget: program("speaks with servers", wget),
  wget2: program("speaks with servers", wget),
  http: program("speaks with servers", anyClient),
  https: program("speaks with servers", anyClient),
  xh: program("speaks with servers", anyClient),
  aria2c: program("fetches files", anyClient),
  fetch: program("fetches files", anyClient),
  lynx: program("shows pages", anyClient),
  w3m: program("shows pages", anyClient),
  links: program("shows pages", anyClient),
  elinks: program("shows pages", anyClient),
  grpcurl: program("speaks with servers", anyClient),
  websocat: program("speaks with servers", pipesOut),
  nc: program("connects a pipe with the network", pipesOut),
  ncat: program("connects a pipe with the network", pipesOut),
  netcat: program("connects a pipe with the network", pipesOut),
  socat: program("connects a pipe with the network", pipesOut),
  telnet: program("connects with the network", pipesOut),
  openssl: program("can connect a pipe with the network", pipesOut),
  ftp: program("moves files over the network", pipesOut),
  lftp: program("moves files over the network", pipesOut),
  sftp: program("moves files over the network", pipesOut),
  scp: program("copies to and from other machines", remoteCopy),
  rsync: program("copies to and from other machines", remoteCopy),
  rclone: program("copies to and from clouds", remoteCopy),
  mail: program("sends mail", sends),
  mailx: program("sends mail", sends),
  mutt: program("sends mail", sends),
  sendmail: program("sends mail", sends),
  msmtp: program("sends mail", sends),
  swaks: program("sends mail", sends),
  ping: program("asks for a name", names),
  ping6: program("asks for a name", names),
  host: program("asks for a name", names),
  dig: program("asks for a name", names),
  drill: program("asks for a name", names),
  delv: program("asks for a name", names),
  kdig: program("asks for a name", names),
  nslookup: program("asks for a name", names),
  resolvectl: program("asks for a name", names),
  getent: program("asks for a name", names),
  traceroute: program("asks for a name", names),
  tracepath: program("asks for a name", names),
  mtr: program("asks for a name", names),
  whois: program("asks for a name", names),
  nmap: program("scans machines", anyClient),
  "ssh-keygen": program("makes and reads keys", anyClient),
  "ssh-add": program("hands out keys", anyClient),
  "ssh-copy-id": program("hands out keys", sends),
};

function subjectOf(call: Invocation): string {
  return readable(describe(call));
}

const CURL = flagTable(
  "-#fgGiIjkLMNnqsSvVZ0123460 -A= -b= -c=> -C= -d= -D=> -e= -E=< -F= -H= -K=< -m= -o=> -O -p -P= -Q= -r= -t= -T=< -u= -U= -w= -x= -X= -Y= -y= -z= " +
    "--compressed --connect-timeout= --cookie= --cookie-jar=> --data= --data-ascii= --data-binary= --data-raw= --data-urlencode= " +
    "--dump-header=> --fail --fail-with-body --form= --form-string= --get --head --header= --http1.1 --http2 --include --insecure " +
    "--json= --location --max-filesize= --max-redirs= --max-time= --no-progress-meter --output=> --output-dir=> --remote-name " +
    "--remote-header-name --request= --retry= --retry-delay= --retry-all-errors --show-error --silent --tlsv1.2 --upload-file=< " +
    "--url= --user= --user-agent= --verbose --write-out= --parallel --progress-bar --globoff --create-dirs --config=< --proto= " +
    "--netrc --netrc-file=< --cert=< --key=< --cacert=< --proxy= --referer= --range= --ipv4 --ipv6 --version --help",
);
const CURL_SENDS = [
  "-d",
  "--data",
  "--data-ascii",
  "--data-binary",
  "--data-raw",
  "--data-urlencode",
  "-F",
  "--form",
  "--form-string",
  "-T",
  "--upload-file",
  "--json",
];
const CURL_WRITES = [
  "-o",
  "-O",
  "--output",
  "--remote-name",
  "-D",
  "--dump-header",
  "-c",
  "--cookie-jar",
  "--remote-header-name",
  "--output-dir",
];
/** Options that make an open profile ask again: configuration, proxies, credentials. */
const CURL_ASKS = [
  "-K",
  "--config",
  "-x",
  "--proxy",
  "-u",
  "--user",
  "-E",
  "--cert",
  "--key",
  "--netrc",
  "--netrc-file",
  "-b",
  "--cookie",
  "-Q",
  "-t",
  "-H",
  "--header",
  "-k",
  "--insecure",
];

function curl(call: Invocation): Flow {
  const { gate } = call;
  const subject = subjectOf(call);
  if (call.args.length === 1 && /^(?:--version|-V|--help|-h)$/.test(call.args[0]?.value ?? "")) {
    gate.report.allow("network.version", "It prints a version.");
    return FROM_NETWORK;
  }
  const found = scan(call.args, CURL);
  judgeFlags(call, found, false);
  sweepPaths(call, call.args);
  const method = flagValue(found, "-X", "--request")?.value.toUpperCase() ?? "GET";
  const asGet = has(found, "-G", "--get");
  if (has(found, ...CURL_SENDS) || (!/^(?:GET|HEAD|OPTIONS)$/.test(method) && !asGet)) {
    gate.report.person("network.sends", "It sends data to another machine.", subject);
  }
  const urls = [
    ...found.operands,
    ...found.flags
      .filter((flag) => flag.name === "--url")
      .flatMap((flag) => (flag.value === undefined ? [] : [flag.value])),
  ];
  const quiet = !has(found, ...CURL_WRITES, ...CURL_ASKS) && found.unknown.length === 0 && urls.length > 0;
  judgeReading(call, urls, quiet);
  return FROM_NETWORK;
}

/** Reading from the network: free in the open profile, when it is plain reading from a public address. */
function judgeReading(call: Invocation, urls: readonly Arg[], quiet: boolean): void {
  const { gate } = call;
  const free = gate.context.profile === "open" && quiet && urls.every((url) => isPublic(url.value));
  if (urls.some((url) => isMetadata(url.value)))
    gate.report.person("web.metadata", "A cloud's metadata address hands out credentials.", subjectOf(call));
  if (free) gate.report.allow("network.read", "The open profile may read from the network.");
  else gate.report.review("network.read", "It reads from the network.", subjectOf(call));
}

function hostOf(text: string): string | undefined {
  try {
    return new URL(/^[a-z]+:\/\//i.test(text) ? text : `http://${text}`).hostname.replace(/^\[|\]$/g, "").toLowerCase();
  } catch {
    return undefined;
  }
}

function isPublic(text: string): boolean {
  if (
    hasMark(text) ||
    /[{}[\]*]/.test(text) ||
    (/^[a-z]+:\/\//i.test(text) && !/^https?:/i.test(text)) ||
    text.includes("@")
  )
    return false;
  const host = hostOf(text);
  return host !== undefined && hostKind(host) === "public";
}

function isMetadata(text: string): boolean {
  const host = hasMark(text) ? undefined : hostOf(text);
  return host !== undefined && hostKind(host) === "metadata";
}

const WGET = flagTable(
  "-46bcdHhkKlLmNnpqrSvVx -O=> -o=> -a=> -P=> -i=< -t= -T= -U= -w= -A= -R= -D= -e= -nv -nc -nd -nH --quiet --no-verbose --output-document=> --tries= " +
    "--timeout= --user-agent= --header= --post-data= --post-file=< --body-data= --body-file=< --method= --continue --timestamping " +
    "--no-check-certificate --spider --server-response --max-redirect= --input-file=< --directory-prefix=> --recursive --level= " +
    "--page-requisites --mirror --convert-links --no-parent --execute= --user= --password= --config=< --use-askpass= --show-progress --version",
);

function wget(call: Invocation): Flow {
  const { gate } = call;
  const found = scan(call.args, WGET);
  judgeFlags(call, found, false);
  sweepPaths(call, call.args);
  const method = flagValue(found, "--method")?.value.toUpperCase() ?? "GET";
  if (has(found, "--post-data", "--post-file", "--body-data", "--body-file") || !/^(?:GET|HEAD)$/.test(method)) {
    gate.report.person("network.sends", "It sends data to another machine.", subjectOf(call));
  }
  const output = flagValue(found, "-O", "--output-document")?.value;
  const quiet =
    (output === "-" || has(found, "--spider")) &&
    found.unknown.length === 0 &&
    found.flags.every((flag) =>
      /^(?:-[qOtTSn]|-nv|--(?:quiet|no-verbose|output-document|tries|timeout|spider))$/.test(flag.name),
    );
  judgeReading(call, found.operands, quiet);
  return FROM_NETWORK;
}

function anyClient(call: Invocation): Flow {
  call.gate.report.review("network.client", "It speaks with other machines.", subjectOf(call));
  if (
    /^(?:http|https|xh)$/.test(call.name) &&
    call.args.some((arg) => /^(?:POST|PUT|PATCH|DELETE)$/.test(arg.value) || /^[\w-]+(?::=|=|@)/.test(arg.value))
  ) {
    call.gate.report.person("network.sends", "It sends data to another machine.", subjectOf(call));
  }
  sweepPaths(call, call.args);
  return FROM_NETWORK;
}

/** What is piped into it leaves the machine; what it can start is a program with the network as input. */
function pipesOut(call: Invocation): Flow {
  const { gate, args } = call;
  const subject = subjectOf(call);
  if (call.name === "openssl" && args[0]?.value !== "s_client")
    gate.report.review("network.openssl", "It works with keys and files.", subject);
  else gate.report.review("network.client", "It speaks with other machines.", subject);
  const waitsOnly = args.some((arg) => /^-\w*z/.test(arg.value)) && !args.some((arg) => /^-\w*[ec]/.test(arg.value));
  if (call.stdin !== undefined && !waitsOnly && call.name !== "openssl")
    gate.report.person("network.sends", "It sends data to another machine.", subject);
  for (const [index, arg] of args.entries()) {
    if (/^(?:-e|-c|--exec|--sh-exec)$/.test(arg.value)) {
      const text = args[index + 1]?.value ?? "";
      gate.report.deny("network.into-interpreter", "It would hand a program to the network.", readable(text));
    }
    if (call.name === "socat" && /^(?:exec|system|shell):/i.test(arg.value)) {
      gate.report.deny("network.into-interpreter", "It would hand a program to the network.", readable(arg.value));
    }
  }
  sweepPaths(call, args);
  return FROM_NETWORK;
}

function remoteCopy(call: Invocation): undefined {
  const { gate, args } = call;
  const subject = subjectOf(call);
  gate.report.review(
    "network.copy",
    "It copies to or from other machines, or removes what is not in its source.",
    subject,
  );
  const operands = args.filter((arg) => !arg.value.startsWith("-"));
  const target = operands.at(-1)?.value ?? "";
  if (call.name === "rclone" || /^(?:[\w.-]+@)?[\w.-]+:|^rsync:|^scp:/.test(target)) {
    if (call.name !== "rclone" || !/^(?:ls|lsd|lsl|size|version|config)$/.test(operands[0]?.value ?? ""))
      gate.report.person("network.sends", "It sends files to another machine.", subject);
  } else if (target !== "")
    judgePath(gate, call.state.folders, {
      value: target,
      glob: false,
      access: "write",
      ...(args.some((arg) => arg.value.startsWith("--delete")) ? { sweeping: true } : {}),
    });
  for (const [index, arg] of args.entries()) {
    const text = /^(?:-e|--rsh)$/.test(arg.value)
      ? args[index + 1]?.value
      : /^--(?:rsh|rsync-path)=(.*)$/.exec(arg.value)?.[1];
    if (text !== undefined)
      gate.report.denyOnly(() =>
        call.walker.text(text, call.state.clone(), undefined, `${call.name} ${quote(arg.value)}`),
      );
  }
  sweepPaths(call, args);
  return undefined;
}

function sends(call: Invocation): undefined {
  call.gate.report.person("network.sends", "It sends data to others.", subjectOf(call));
  sweepPaths(call, call.args);
  return undefined;
}

/** A name to look up leaves the machine with whatever was put into it. */
function names(call: Invocation): undefined {
  const subject = subjectOf(call);
  call.gate.report.review("network.names", "It asks the network.", subject);
  if (call.args.some((arg) => hasMark(arg.value)))
    call.gate.report.deny("network.dns-leak", "A name made by an expansion can carry data out.", subject);
  sweepPaths(call, call.args);
  return undefined;
}
