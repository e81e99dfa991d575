/** Programs that start another one: their own options are read, the rest is judged as the command it is. */
import { judgeAssignment } from "../environment.ts";
import { describe, type Invocation, type Program, type ProgramTable } from "../invocation.ts";
import { type FlagTable, flagTable, flagValue, has, scan } from "../options.ts";
import { judgePath } from "../paths/access.ts";
import { type Flow, NOTHING_KNOWN } from "../shell/flow.ts";
import { readable } from "../shell/marks.ts";
import type { Arg } from "../shell/words.ts";
import { judgeClaudeWords } from "./claude.ts";
import { judgeData, judgeFlags, program } from "./reader.ts";
import { runText } from "./shells.ts";
import { sweepPaths } from "./sweep.ts";

interface WrapperOptions {
  /** Harmless options of its own. */
  flags?: string;
  /** Operands before the command, e.g. the duration of `timeout`. */
  skip?: number;
  /** `NAME=value` words may stand before the command. */
  assignments?: boolean;
  /** It changes more than how the command runs: never allowed as such. */
  asks?: string;
  /** Its own options may follow the operands. */
  permute?: boolean;
  /** Options whose value is shell text. */
  text?: readonly string[];
}

export function wrapper(reason: string, options: WrapperOptions = {}): Program {
  let table: FlagTable | undefined;
  return {
    reason,
    judge: (call) => {
      table ??= flagTable(options.flags ?? "");
      return unwrap(call, table, options);
    },
  };
}

function unwrap(call: Invocation, table: FlagTable, options: WrapperOptions): Flow {
  const { gate } = call;
  const found = scan(call.args, table, options.permute ?? false);
  judgeFlags(call, { ...found, unclear: [] }, false);
  if (options.asks !== undefined) gate.report.review(`wrapper.${call.name}`, options.asks, readable(describe(call)));
  for (const name of options.text ?? []) {
    const text = flagValue(found, name);
    if (text !== undefined) runText(call, text.value, `${call.name} ${name}`, false);
  }
  // An unknown option may take a value: the command may begin at any later word, so each is tried for deny rules.
  if (found.unknown.length > 0) tryEach(call, call.args);
  judgeData(call, found.operands.slice(0, options.skip ?? 0));
  const inner = found.operands.slice(options.skip ?? 0);
  const { argv, assigned } =
    options.assignments === true ? takeAssignments(call, inner) : { argv: inner, assigned: [] };
  if (argv.length === 0) {
    if (options.text === undefined)
      gate.report.review("wrapper.empty", "There is nothing for it to start.", describe(call));
    return NOTHING_KNOWN;
  }
  gate.report.allow(`wrapper.${call.name}`, "It only changes how the command runs.");
  return call.walker.invoke(argv, { ...call, assigned: [...call.assigned, ...assigned] });
}

export function takeAssignments(call: Invocation, words: readonly Arg[]): { argv: Arg[]; assigned: string[] } {
  const assigned: string[] = [];
  let at = 0;
  for (; at < words.length; at += 1) {
    const word = words[at]?.value ?? "";
    const equals = word.indexOf("=");
    if (equals <= 0 || !/^[A-Za-z_]\w*$/.test(word.slice(0, equals))) break;
    const name = word.slice(0, equals);
    judgeAssignment(name, word.slice(equals + 1), call.gate, readable(word));
    assigned.push(name);
  }
  return { argv: words.slice(at), assigned };
}

/** Deny rules over the command that may begin at any of the first words. */
export function tryEach(call: Invocation, words: readonly Arg[]): void {
  judgeClaudeWords(call);
  sweepPaths(call, words);
  call.gate.report.denyOnly(() => {
    for (let at = 0; at < Math.min(words.length, 8); at += 1) {
      if (words[at]?.value.startsWith("-") === true) continue;
      call.walker.invoke(words.slice(at), call);
    }
  });
}

export const WRAPPERS: ProgramTable = {
  timeout: wrapper("ends the command after a time", {
    flags: "-v -k= -s= --kill-after= --signal= --foreground --preserve-status --verbose",
    skip: 1,
  }),
  gtimeout: wrapper("ends the command after a time", {
    flags: "-v -k= -s= --kill-after= --signal= --foreground --preserve-status",
    skip: 1,
  }),
  time: wrapper("measures the command", {
    flags: "-pvaq -f= -o=> --format= --output=> --portability --verbose --append --quiet",
  }),
  nice: wrapper("lowers the command's priority", { flags: "-# -n= --adjustment=" }),
  ionice: wrapper("lowers the command's priority", { flags: "-t -c= -n= --class= --classdata=" }),
  stdbuf: wrapper("changes the command's buffering", { flags: "-i= -o= -e= --input= --output= --error=" }),
  unbuffer: wrapper("gives the command a terminal", { flags: "-p" }),
  caffeinate: wrapper("keeps the machine awake", { flags: "-dimsu -t=" }),
  nohup: wrapper("lets the command outlive the call", { asks: "The command would outlive the call." }),
  setsid: wrapper("lets the command outlive the call", {
    flags: "-cfw --ctty --fork --wait",
    asks: "The command would outlive the call.",
  }),
  env: program("runs a command with other variables", env),
  exec: wrapper("replaces the shell", { flags: "-cl -a=", asks: "It replaces the shell or its streams." }),
  command: program("skips functions and aliases", command),
  builtin: wrapper("runs a builtin", { asks: "It runs a builtin under another name." }),
  noglob: wrapper("a word of zsh", { asks: "A word of another shell." }),
  nocorrect: wrapper("a word of zsh", { asks: "A word of another shell." }),
  sudo: wrapper("runs as another account", {
    flags:
      "-EHnSkKbAPs -u= -g= -p= -C= -D= -R= -T= -U= -r= -t= --user= --group= --preserve-env=? --set-home --non-interactive --stdin --background --shell",
    assignments: true,
    asks: "It runs with another account's rights.",
  }),
  doas: wrapper("runs as another account", { flags: "-nLs -u= -C=", asks: "It runs with another account's rights." }),
  pkexec: wrapper("runs as another account", {
    flags: "--user= --disable-internal-agent --keep-cwd",
    asks: "It runs with another account's rights.",
  }),
  su: wrapper("runs as another account", {
    flags: "-lmpf -c= -s= --command= --login --shell=",
    asks: "It runs with another account's rights.",
    text: ["-c", "--command"],
    skip: 1,
    permute: true,
  }),
  runuser: wrapper("runs as another account", {
    flags: "-lmp -u= -c= -g= -G= -s= --command= --user=",
    asks: "It runs with another account's rights.",
    text: ["-c", "--command"],
  }),
  setpriv: wrapper("changes rights", { asks: "It changes the command's rights." }),
  chroot: wrapper("changes the root", {
    flags: "--userspec= --groups= --skip-chdir",
    skip: 1,
    asks: "It gives the command another root folder.",
  }),
  unshare: wrapper("makes namespaces", {
    flags:
      "-mupinUCTfrc -S= -G= -R= -w= --mount=? --uts=? --ipc=? --net=? --pid=? --user=? --cgroup=? --time=? --fork --map-root-user --map-current-user --mount-proc=? --root= --wd= --kill-child=?",
    asks: "It runs the command in other namespaces.",
  }),
  nsenter: program("enters namespaces", nsenter),
  script: program("records a terminal", script),
  watch: program("repeats a command", watch),
  strace: wrapper("traces the command", {
    flags: "-fFqvyTtrcCdi -e= -o=> -p= -s= -u= -E= -a= -P=",
    asks: "It traces the command.",
  }),
  ltrace: wrapper("traces the command", {
    flags: "-fSTtrcCi -e= -o=> -p= -s= -u= -n=",
    asks: "It traces the command.",
  }),
  valgrind: wrapper("checks the command's memory", {
    flags: "-vq --tool= --leak-check=? --track-origins= --error-exitcode= --show-leak-kinds= --quiet --verbose",
    asks: "It runs a program under a checker.",
  }),
  flock: wrapper("locks a file", {
    flags: "-sxeunoFv -c= -E= -w= --shared --exclusive --unlock --nonblock --close --timeout= --command=",
    skip: 1,
    text: ["-c", "--command"],
    asks: "It creates and locks a file.",
    permute: true,
  }),
  "systemd-run": wrapper("hands the command to the system", {
    flags: "-dGPqrSt -p= -u= -E= --user --scope --unit= --property= --setenv= --pty --wait --collect",
    asks: "It hands the command to the system's own supervisor.",
  }),
  busybox: wrapper("many programs in one", { asks: "It runs a program under another name." }),
  toybox: wrapper("many programs in one", { asks: "It runs a program under another name." }),
  fakeroot: wrapper("pretends to be root", { asks: "It changes what the command sees." }),
  firejail: wrapper("a sandbox", {
    flags: "--quiet --net= --private=? --noprofile",
    asks: "It changes what the command sees.",
  }),
  bwrap: wrapper("a sandbox", { asks: "It changes what the command sees." }),
  proot: wrapper("a sandbox", { asks: "It changes what the command sees." }),
  "xvfb-run": wrapper("gives the command a display", {
    flags: "-a -n= -s= -e=> --auto-servernum --server-num= --server-args=",
    asks: "It starts a display server.",
  }),
  "dbus-run-session": wrapper("gives the command a bus", { asks: "It starts a bus." }),
  chrt: wrapper("changes scheduling", { flags: "-bfiormdp", skip: 1, asks: "It changes scheduling." }),
  taskset: wrapper("chooses processors", { flags: "-c -a", skip: 1, asks: "It changes scheduling." }),
  prlimit: wrapper("limits the command", { asks: "It changes limits." }),
  rlwrap: wrapper("gives the command a line editor", { asks: "It starts a program with a terminal." }),
  proxychains: wrapper("sends its traffic elsewhere", { asks: "It sends the command's traffic elsewhere." }),
  torsocks: wrapper("sends its traffic elsewhere", { asks: "It sends the command's traffic elsewhere." }),
  ccache: wrapper("caches a compiler's output", { asks: "It runs a compiler." }),
  entr: wrapper("runs a command on changes", { flags: "-acdnprsxz", asks: "It runs the command again and again." }),
  "aws-vault": wrapper("hands out credentials", { skip: 2, asks: "It hands credentials to the command." }),
  op: wrapper("hands out secrets", { skip: 1, asks: "It hands secrets to the command." }),
  doppler: wrapper("hands out secrets", { skip: 1, asks: "It hands secrets to the command." }),
  direnv: wrapper("loads a folder's variables", { skip: 2, asks: "It loads variables from a file." }),
  dotenv: wrapper("loads variables from a file", { flags: "-e=< -c=?", asks: "It loads variables from a file." }),
  "env-cmd": wrapper("loads variables from a file", {
    flags: "-f=< --file=<",
    asks: "It loads variables from a file.",
  }),
  "cross-env": wrapper("sets variables", { assignments: true }),
  "cross-env-shell": wrapper("sets variables", { assignments: true, asks: "It runs text." }),
};

const ENV = flagTable("-iv0 -u= -C=< -S= --ignore-environment --unset= --chdir=< --split-string= --null --debug");

function env(call: Invocation): Flow | undefined {
  const { gate } = call;
  const found = scan(
    call.args.filter((arg, index) => arg.value !== "-" || index > 0),
    ENV,
    false,
  );
  judgeFlags(call, found, false);
  const split = flagValue(found, "-S", "--split-string");
  if (found.unknown.length > 0) tryEach(call, call.args);
  if (split !== undefined) {
    const rest = found.operands.map((arg) => quote(arg.value)).join(" ");
    gate.report.review("wrapper.env-split", "It cuts a text into a command.", readable(describe(call)));
    return runText(call, `${split.value} ${rest}`, "env -S", false);
  }
  const folder = flagValue(found, "-C", "--chdir");
  const { argv, assigned } = takeAssignments(call, found.operands);
  if (argv.length === 0) {
    gate.report.review("words.environment", "It shows the environment, which may hold secrets.", describe(call));
    return undefined;
  }
  const state = call.state.clone();
  if (folder !== undefined) state.enter(undefined, true);
  gate.report.allow("wrapper.env", "It only changes variables.");
  return call.walker.invoke(argv, { ...call, state, assigned: [...call.assigned, ...assigned] });
}

export function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

const COMMAND = flagTable("-pvV");

function command(call: Invocation): Flow | undefined {
  const found = scan(call.args, COMMAND, false);
  judgeFlags(call, found, false);
  if (has(found, "-v", "-V")) {
    call.gate.report.allow("read.command", "It finds a program.");
    return undefined;
  }
  if (found.operands.length === 0) return undefined;
  return call.walker.invoke(found.operands, call);
}

function nsenter(call: Invocation): undefined {
  call.gate.report.deny(
    "container.namespaces",
    "It enters the namespaces of another process.",
    readable(describe(call)),
  );
  return undefined;
}

const SCRIPT = flagTable(
  "-aefq -c= -E= -I= -O= -B= -T= -m= -o= -t=? --append --command= --echo= --return --flush --quiet --log-out=",
);

function script(call: Invocation): undefined {
  const found = scan(call.args, SCRIPT);
  judgeFlags(call, found, false);
  call.gate.report.review("wrapper.script", "It records a terminal to a file.", readable(describe(call)));
  const text = flagValue(found, "-c", "--command");
  if (text !== undefined) runText(call, text.value, "script -c", false);
  for (const file of found.operands.slice(0, 1))
    judgePath(call.gate, call.state.folders, { value: file.value, glob: file.glob, access: "write" });
  if (found.operands.length > 1) tryEach(call, found.operands.slice(1)); // BSD: `script file command`
  return undefined;
}

const WATCH = flagTable(
  "-bcdegtwxpC -n= -q= --interval= --differences=? --no-title --exec --color --beep --errexit --chgexit --precise",
);

function watch(call: Invocation): undefined {
  const found = scan(call.args, WATCH, false);
  judgeFlags(call, found, false);
  call.gate.report.review("wrapper.watch", "It repeats the command without end.", readable(describe(call)));
  if (found.unknown.length > 0) tryEach(call, call.args);
  runText(
    call,
    found.operands.map((arg) => (has(found, "-x", "--exec") ? quote(arg.value) : arg.value)).join(" "),
    "watch",
    false,
  );
  return undefined;
}
