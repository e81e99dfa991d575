/**
 * What kind of place a path is and what each access to it costs. The tables are data: add a name in one line. Sources
 * of the names are the programs themselves (git 2.43, OpenSSH 9, bash 5.2, Claude Code 2.1.268).
 */
import type { Loss, Verdict } from "../../core/contracts/policy.ts";

/** How a call touches a path. */
export type Access =
  /** Its content, its listing or the shell's folder. */
  | "read"
  /** Claude's own Write, Edit, MultiEdit, NotebookEdit. */
  | "edit"
  /** `cp`, `mkdir`, `touch` and options that name an output. */
  | "write"
  /** A shell redirection that writes. */
  | "redirect"
  /** `rm`, `mv` away, `shred`. */
  | "remove"
  /** Mode, owner, link. */
  | "change";

export interface PlaceRule {
  reason: string;
  read: Verdict;
  edit: Verdict;
  write: Verdict;
  redirect: Verdict;
  remove: Verdict;
  change: Verdict;
  loss?: Loss;
}

function place(reason: string, read: Verdict, writing: Verdict, exceptions: Partial<PlaceRule> = {}): PlaceRule {
  return {
    reason,
    read,
    edit: writing,
    write: writing,
    redirect: writing,
    remove: writing,
    change: writing,
    ...exceptions,
  };
}

export const PLACES = {
  workspace: place("An ordinary file of the workspace.", "allow", "allow"),
  root: place("The workspace itself.", "allow", "allow", {
    edit: "review",
    redirect: "review",
    remove: "deny",
    change: "review",
  }),
  temporary: place("The task's own temporary folder.", "allow", "allow"),
  protected: place(
    "It configures Claude, its hooks or git's hooks; the worker must not change its own gate.",
    "allow",
    "deny",
  ),
  "protected-spelling": place(
    "It differs from a protected name only by case; some file systems ignore case.",
    "allow",
    "review",
  ),
  git: place("Git's own data; use git to change it.", "allow", "review", { loss: "lost" }),
  "git-folder": place("The repository itself.", "allow", "review", {
    remove: "deny",
    change: "deny",
    edit: "deny",
    redirect: "deny",
  }),
  secrets: place("An environment file holds secrets.", "review", "review", { loss: "lost" }),
  obeyed: place("Everyday commands obey this file later on.", "allow", "review"),
  option: place("A file name that begins with a dash is read as an option by later commands.", "allow", "review"),
  credentials: place("A credential store.", "deny", "deny"),
  "claude-home": place("Claude's own folder in the home.", "review", "deny"),
  startup: place("A start-up file: what is written here runs later.", "review", "deny"),
  supervisor: place("The supervisor's own folder.", "deny", "deny"),
  "pi-home": place("Pi's own folder.", "review", "deny"),
  kernel: place("System configuration or a device.", "review", "deny"),
  system: place("A system folder.", "review", "review", { loss: "lost" }),
  null: place("A stream that keeps nothing.", "allow", "allow", { remove: "deny", change: "deny", edit: "deny" }),
  loop: place("The path cannot be followed to its end.", "review", "review"),
  outside: place("Outside the workspace.", "review", "review"),
} as const satisfies Record<string, PlaceRule>;

export type Place = keyof typeof PLACES;

/** Below the home folder: exact names, or folders when they end in a slash. */
export const HOME_PLACES: readonly (readonly [string, Place])[] = [
  [".ssh/", "credentials"],
  [".aws/", "credentials"],
  [".gnupg/", "credentials"],
  [".kube/", "credentials"],
  [".azure/", "credentials"],
  [".config/gcloud/", "credentials"],
  [".config/gh/", "credentials"],
  [".docker/config.json", "credentials"],
  [".netrc", "credentials"],
  [".git-credentials", "credentials"],
  [".config/git/credentials", "credentials"],
  [".npmrc", "credentials"],
  [".pypirc", "credentials"],
  [".claude/.credentials.json", "credentials"],
  [".claude.json", "credentials"],
  [".claude/", "claude-home"],
  [".pi/agent/", "pi-home"],
  [".bashrc", "startup"],
  [".bash_profile", "startup"],
  [".bash_login", "startup"],
  [".bash_logout", "startup"],
  [".profile", "startup"],
  [".zshrc", "startup"],
  [".zshenv", "startup"],
  [".zprofile", "startup"],
  [".zlogin", "startup"],
  [".config/fish/", "startup"],
  [".gitconfig", "startup"],
  [".config/git/", "startup"],
  [".config/systemd/", "startup"],
  [".config/autostart/", "startup"],
  [".local/bin/", "system"],
];

/** Inside the workspace, at any depth: the path's last components, or a folder when it ends in a slash. */
export const WORKSPACE_PLACES: readonly (readonly [string, Place])[] = [
  [".claude/", "protected"],
  [".mcp.json", "protected"],
  [".git/hooks/", "protected"],
  [".git/config", "protected"],
  [".pi/supervisor.json", "protected"],
  [".git/", "git"],
  [".npmrc", "obeyed"],
  [".yarnrc.yml", "obeyed"],
  [".pnpmfile.cjs", "obeyed"],
  [".envrc", "obeyed"],
  [".gitattributes", "obeyed"],
  [".gitmodules", "obeyed"],
  [".husky/", "obeyed"],
  [".vscode/tasks.json", "obeyed"],
  [".vscode/settings.json", "obeyed"],
  [".pre-commit-config.yaml", "obeyed"],
];

/** Environment files that are examples and hold no secret. */
export const HARMLESS_ENV_SUFFIXES: readonly string[] = ["example", "sample", "template"];

/** Absolute places. The first match counts. */
export const ABSOLUTE_PLACES: readonly (readonly [string, Place])[] = [
  ["/etc/shadow", "credentials"],
  ["/etc/gshadow", "credentials"],
  ["/var/spool/cron/", "startup"],
  ["/dev/null", "null"],
  ["/dev/stdout", "null"],
  ["/dev/stderr", "null"],
  ["/dev/stdin", "null"],
  ["/dev/fd/", "null"],
  ["/dev/tty", "null"],
  ["/dev/zero", "null"],
  ["/etc/", "kernel"],
  ["/boot/", "kernel"],
  ["/dev/", "kernel"],
  ["/sys/", "kernel"],
  ["/proc/", "kernel"],
  ["/usr/", "system"],
  ["/opt/", "system"],
  ["/var/", "system"],
  ["/bin/", "system"],
  ["/sbin/", "system"],
  ["/lib/", "system"],
  ["/lib32/", "system"],
  ["/lib64/", "system"],
  ["/System/", "system"],
  ["/Library/", "system"],
];

/** Folders whose recursive or forced removal, or that of their whole content, is never right. */
export const SYSTEM_FOLDERS: ReadonlySet<string> = new Set(
  (
    "/ /bin /boot /dev /etc /home /lib /lib32 /lib64 /media /mnt /opt /proc /root /run /sbin /srv /sys /tmp /usr /var " +
    "/usr/bin /usr/lib /usr/lib64 /usr/local /usr/local/bin /usr/local/lib /usr/sbin /usr/share /usr/include " +
    "/var/lib /var/log /var/spool /var/www /etc/systemd /System /Library /Users /Applications /Volumes"
  ).split(" "),
);
