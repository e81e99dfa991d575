/**
 * Signals, while a supervisor is open. Facts (run on both lines): Pi's RPC and print mode answer SIGTERM and SIGHUP with
 * `session_shutdown`; the TUI of 0.73.1 dies of SIGTERM without it unless somebody else listens too; an external SIGINT
 * ends every mode at once. So: our listener ends the workers, and then Pi's behaviour is what it would have been.
 */
import { type Hub, quit } from "./session-binding.ts";

/** The part of `process` that is used; tests inject their own. */
export interface SignalHost {
  readonly pid: number;
  on(signal: NodeJS.Signals, listener: () => void): unknown;
  off(signal: NodeJS.Signals, listener: () => void): unknown;
  kill(pid: number, signal: NodeJS.Signals): unknown;
}

/** Milliseconds that Pi has, once the workers are ended, to begin its own end (its TUI drains the keyboard for 1 s). */
const PI_GRACE_MS = 2_000;

/** Installs the listeners once; they stay over re-evaluations and are removed with `hub.signals`. */
export function installSignals(hub: Hub, host: SignalHost = process, graceMs = PI_GRACE_MS): void {
  if (hub.signals !== undefined) return;
  const listeners: [NodeJS.Signals, () => void][] = [];
  const remove = () => {
    for (const [signal, listener] of listeners) host.off(signal, listener);
    hub.signals = undefined;
  };
  const again = (signal: NodeJS.Signals) => {
    remove();
    host.kill(host.pid, signal);
  };
  let interrupted = false;

  const onInterrupt = () => {
    if (hub.terminalGiven) return;
    if (interrupted) return again("SIGINT");
    interrupted = true;
    void quit(hub).finally(() => again("SIGINT"));
  };
  /** Pi answers these itself; where it does not, the signal gets its default effect after all. */
  const onEnd = (signal: NodeJS.Signals) => () => {
    void quit(hub).finally(() => {
      if (hub.quitSeen) return;
      setTimeout(() => {
        if (!hub.quitSeen) again(signal);
      }, graceMs);
    });
  };

  listeners.push(["SIGINT", onInterrupt], ["SIGTERM", onEnd("SIGTERM")]);
  if (process.platform !== "win32") listeners.push(["SIGHUP", onEnd("SIGHUP")]);
  for (const [signal, listener] of listeners) host.on(signal, listener);
  hub.signals = { remove };
}
