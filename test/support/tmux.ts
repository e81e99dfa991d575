/**
 * A terminal for tests of text interfaces: one program in a tmux server of its own (own socket, no configuration file).
 *
 *     const terminal = await startTmux({ lab, file, args, env, cwd });
 *     terminal.type("/supervise status");
 *     terminal.key("Enter");
 *     await terminal.waitFor(/running/, 10_000);
 */
import { execFile, execFileSync } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { isAlive } from "./processes.ts";
import { until } from "./until.ts";
import type { Lab } from "./workspace.ts";

const run = promisify(execFile);

export interface TmuxOptions {
  lab: Lab;
  file: string;
  args: readonly string[];
  /** The program's whole environment; TERM is tmux's own. */
  env: Readonly<Record<string, string>>;
  cwd: string;
  /** Everything that the program writes to its terminal goes into this file too, byte for byte. */
  transcript?: string;
  /** Default 120 columns, 40 rows. */
  columns?: number;
  rows?: number;
}

export interface Tmux {
  /** Pid of the program in the pane. */
  readonly pid: number;
  /** Sends text as typed, key names not interpreted. */
  type(text: string): Promise<void>;
  /** Sends keys by tmux's names: `Enter`, `Escape`, `Up`, `C-c`… */
  key(...names: string[]): Promise<void>;
  /** What the screen shows, wrapped lines joined; with `history`, what scrolled away too. */
  screen(options?: { history?: boolean }): Promise<string>;
  /** Resolves with the screen once it matches. */
  waitFor(pattern: RegExp, deadlineMs: number): Promise<string>;
  /** The program's exit code once it has ended; 128 + n after signal n, as shells say it. */
  exitCode(deadlineMs: number): Promise<number>;
  resize(columns: number, rows: number): Promise<void>;
  /** Ends the program (SIGHUP, as a closing terminal does) and the server. Part of the lab's clean-up. */
  kill(): Promise<void>;
}

/** undefined when tmux can be used here, else the reason for the test's `skip`. */
export function tmuxSkipReason(): string | undefined {
  try {
    execFileSync("tmux", ["-V"], { stdio: "ignore" });
    return undefined;
  } catch {
    return "tmux is not installed";
  }
}

let servers = 0;

export async function startTmux(options: TmuxOptions): Promise<Tmux> {
  // Relative to /tmp a socket path stays below the 108 bytes that Linux allows.
  const socket = join(options.lab.root, `t${++servers}`);
  const env = { ...options.env, TERM: "xterm-256color" };
  const tmux = async (...args: string[]): Promise<string> => {
    const { stdout } = await run("tmux", ["-S", socket, "-f", "/dev/null", ...args], { env, timeout: 10_000 });
    return stdout;
  };
  const size = ["-x", String(options.columns ?? 120), "-y", String(options.rows ?? 40)];
  // The pane stays after the program's end, so that its last screen and exit code can be read.
  const stay = ["set-option", "-g", "remain-on-exit", "on", ";", "set-option", "-g", "escape-time", "0", ";"];
  await tmux(
    ...["start-server", ";", ...stay],
    ...["new-session", "-d", ...size, "-c", options.cwd, "--", options.file, ...options.args],
  );
  const [pid = 0, serverPid = 0] = (await tmux("display-message", "-p", "#{pane_pid} #{pid}"))
    .trim()
    .split(" ")
    .map(Number);
  if (options.transcript !== undefined) await tmux("pipe-pane", "-O", `exec cat > '${options.transcript}'`);
  let killed = false;

  const terminal: Tmux = {
    pid,
    async type(text) {
      await tmux("send-keys", "-l", "--", text);
    },
    async key(...names) {
      await tmux("send-keys", "--", ...names);
    },
    screen: ({ history = false } = {}) => tmux("capture-pane", "-p", "-J", ...(history ? ["-S", "-"] : [])),
    async waitFor(pattern, deadlineMs) {
      let last = "";
      return until(
        async () => {
          last = await terminal.screen();
          return pattern.test(last) ? last : undefined;
        },
        deadlineMs,
        () => `${pattern} on the screen:\n${last.trimEnd()}`,
      );
    },
    async exitCode(deadlineMs) {
      const format = "#{pane_dead}:#{pane_dead_status}:#{pane_dead_signal}";
      const ended = await until(
        async () => {
          const [dead, code = "", signal = ""] = (await tmux("display-message", "-p", format)).trim().split(":");
          if (dead !== "1") return undefined;
          if (code === "" && signal === "") {
            // tmux 3.3a misses a SIGCHLD now and then and leaves a zombie; with the next one it collects all of them.
            await tmux("run-shell", "true");
            return undefined;
          }
          return { code: code === "" ? 128 + Number(signal) : Number(code) };
        },
        deadlineMs,
        `the end of ${options.file}`,
      );
      return ended.code;
    },
    async resize(columns, rows) {
      await tmux("resize-window", "-x", String(columns), "-y", String(rows));
    },
    async kill() {
      if (killed) return;
      killed = true;
      await tmux("kill-server");
      await until(() => !isAlive(serverPid) && !isAlive(pid), 10_000, "the end of the terminal and its program");
    },
  };
  options.lab.defer(() => terminal.kill());
  return terminal;
}
