/** Programs that act on the whole machine: power, disks, processes, accounts, services. */
import { describe, type Invocation, type Judge, type ProgramTable } from "../invocation.ts";
import { PARENT_PROCESS, readable } from "../shell/marks.ts";
import { program } from "./reader.ts";
import { sweepPaths } from "./sweep.ts";

const never =
  (rule: string, reason: string): Judge =>
  (call) => {
    if (call.args.length === 1 && /^(?:--version|--help)$/.test(call.args[0]?.value ?? "")) {
      call.gate.report.review("machine.help", "It prints a help text.", call.name);
      return undefined;
    }
    call.gate.report.deny(rule, reason, readable(describe(call)));
    return undefined;
  };

const ask =
  (rule: string, reason: string): Judge =>
  (call) => {
    call.gate.report.review(rule, reason, readable(describe(call)));
    sweepPaths(call, call.args);
    return undefined;
  };

const power = never("machine.power", "It would switch the machine off or restart it.");
const disk = never("machine.disk", "It would write to a disk past its file system.");
const killer = never("machine.kill-by-name", "It ends processes by name, which may be anybody's.");

export const MACHINE: ProgramTable = {
  shutdown: program("power", power),
  reboot: program("power", power),
  poweroff: program("power", power),
  halt: program("power", power),
  init: program("power", power),
  telinit: program("power", power),
  systemctl: program("services and power", services),
  mkfs: program("makes a file system", disk),
  mke2fs: program("makes a file system", disk),
  mkswap: program("makes a swap area", disk),
  fdisk: program("partitions a disk", disk),
  sfdisk: program("partitions a disk", disk),
  gdisk: program("partitions a disk", disk),
  sgdisk: program("partitions a disk", disk),
  cfdisk: program("partitions a disk", disk),
  parted: program("partitions a disk", disk),
  wipefs: program("wipes a disk", disk),
  blkdiscard: program("wipes a disk", disk),
  hdparm: program("commands a disk", disk),
  cryptsetup: program("encrypts a disk", disk),
  diskutil: program("commands a disk", disk),
  pkill: program("ends processes by name", killer),
  killall: program("ends processes by name", killer),
  killall5: program("ends all processes", killer),
  skill: program("ends processes by name", killer),
  slay: program("ends processes by name", killer),
  fuser: program("finds and ends users of a file", fuser),
  kill: program("ends processes by number", kill),
  ps: program(
    "lists processes, with their arguments and variables",
    ask("machine.processes", "It shows other processes."),
  ),
  pgrep: program("finds processes", ask("machine.processes", "It shows other processes.")),
  top: program("watches processes", ask("machine.processes", "It shows other processes.")),
  htop: program("watches processes", ask("machine.processes", "It shows other processes.")),
  lsof: program("shows open files", ask("machine.processes", "It shows other processes.")),
  ss: program("shows connections", ask("machine.network", "It shows the machine's connections.")),
  netstat: program("shows connections", ask("machine.network", "It shows the machine's connections.")),
  ip: program("shows and changes the network", ask("machine.network", "It shows or changes the machine's network.")),
  ifconfig: program(
    "shows and changes the network",
    ask("machine.network", "It shows or changes the machine's network."),
  ),
  iptables: program("changes the firewall", ask("machine.network", "It changes the firewall.")),
  hostname: program("shows and sets the machine's name", hostname),
  mount: program("mounts a file system", ask("machine.mount", "It changes what the machine sees as files.")),
  umount: program("unmounts a file system", ask("machine.mount", "It changes what the machine sees as files.")),
  sysctl: program("changes the kernel", ask("machine.kernel", "It changes the kernel.")),
  modprobe: program("loads kernel code", ask("machine.kernel", "It changes the kernel.")),
  insmod: program("loads kernel code", ask("machine.kernel", "It changes the kernel.")),
  useradd: program("changes accounts", ask("machine.accounts", "It changes accounts.")),
  usermod: program("changes accounts", ask("machine.accounts", "It changes accounts.")),
  passwd: program("changes accounts", ask("machine.accounts", "It changes accounts.")),
  visudo: program("changes rights", ask("machine.accounts", "It changes rights.")),
  service: program("starts and stops services", ask("machine.services", "It starts or stops services.")),
  launchctl: program("starts and stops services", ask("machine.services", "It starts or stops services.")),
  apt: program("installs software", ask("install.system", "It installs software on the machine.")),
  "apt-get": program("installs software", ask("install.system", "It installs software on the machine.")),
  dnf: program("installs software", ask("install.system", "It installs software on the machine.")),
  yum: program("installs software", ask("install.system", "It installs software on the machine.")),
  apk: program("installs software", ask("install.system", "It installs software on the machine.")),
  pacman: program("installs software", ask("install.system", "It installs software on the machine.")),
  brew: program("installs software", ask("install.system", "It installs software on the machine.")),
  printenv: program("shows the environment", printenv),
  man: program("shows manuals by a pager", ask("machine.pager", "It starts a pager.")),
  info: program("shows manuals", ask("machine.pager", "It starts a pager.")),
  less: program("a pager that can start programs", ask("machine.pager", "A pager can start programs.")),
  more: program("a pager that can start programs", ask("machine.pager", "A pager can start programs.")),
  most: program("a pager that can start programs", ask("machine.pager", "A pager can start programs.")),
};

function services(call: Invocation): undefined {
  const verb = call.args.find((arg) => !arg.value.startsWith("-"))?.value ?? "";
  if (
    /^(?:poweroff|reboot|halt|kexec|suspend|hibernate|hybrid-sleep|soft-reboot|rescue|emergency|isolate|exit)$/.test(
      verb,
    )
  )
    return power(call) as undefined;
  return ask("machine.services", "It shows, starts or stops services.")(call) as undefined;
}

function fuser(call: Invocation): undefined {
  if (call.args.some((arg) => /^-\w*k/.test(arg.value) || arg.value === "--kill")) return killer(call) as undefined;
  return ask("machine.processes", "It shows other processes.")(call) as undefined;
}

/** `kill` of everything, of one's own group, of init or of the shell's parent ends more than a process. */
function kill(call: Invocation): undefined {
  const { gate, args } = call;
  const subject = readable(describe(call));
  if (args.length === 1 && /^-[lL]$/.test(args[0]?.value ?? "")) {
    gate.report.allow("machine.kill-list", "It lists signals.");
    return undefined;
  }
  let at = 0;
  const first = args[0]?.value ?? "";
  if (/^-[sn]$/.test(first)) at = 2;
  else if (/^-(?:[A-Za-z][A-Za-z0-9+-]*|\d+)$/.test(first) && (first !== "-1" || args.length > 1)) at = 1;
  for (const arg of args.slice(at)) {
    const target = arg.value;
    if (target === "--") continue;
    if (/^-?0*[01]$/.test(target) || target.includes(PARENT_PROCESS)) {
      gate.report.deny("machine.kill-all", "It would end far more than one process.", subject);
    }
  }
  gate.report.review("machine.kill", "It ends a process that may be anybody's.", subject);
  return undefined;
}

function hostname(call: Invocation): undefined {
  if (
    call.args.every((arg) => /^-(?:[sfdiIA]|-(?:short|fqdn|long|domain|ip-address|all-ip-addresses))$/.test(arg.value))
  ) {
    call.gate.report.allow("read.hostname", "It names the machine.");
    return undefined;
  }
  return ask("machine.hostname", "It would rename the machine.")(call) as undefined;
}

const SHOWN_VARIABLES = new Set("PATH HOME PWD USER SHELL LANG TERM NODE_ENV CI TMPDIR".split(" "));

function printenv(call: Invocation): undefined {
  if (call.args.length > 0 && call.args.every((arg) => SHOWN_VARIABLES.has(arg.value))) {
    call.gate.report.allow("read.printenv", "It shows harmless variables.");
    return undefined;
  }
  call.gate.report.review(
    "words.environment",
    "It shows the environment, which may hold secrets.",
    readable(describe(call)),
  );
  return undefined;
}
