/** Worker events → task events: redacted, bounded, marked late where they come too late. */
import { createHash } from "node:crypto";
import type { WorkerEvent } from "../core/contracts/worker.ts";
import type { EventDraft, EventType } from "../core/events.ts";
import { isLate } from "../core/machine/late.ts";
import { assertNever } from "../core/result.ts";
import { ending, preview } from "./bounds.ts";
import type { DriverPort } from "./effect-port.ts";
import type { GateKeeper } from "./gate-keeper.ts";
import { keyInParts } from "./key-in-parts.ts";
import { LAST_WORDS } from "./raw.ts";

/** A heartbeat is recorded when nothing else was for this long (ms). */
const HEARTBEAT_MS = 60_000;
/** Characters of the last words of a worker. */
const STDERR_CHARS = 500;
const LAST_WORDS_CHARS = 12_000;

export function linkWorker(port: DriverPort, gate: GateKeeper): (event: WorkerEvent) => void {
  const { redactor } = port;
  const clean = (text: string): string => preview(redactor.text(text));
  /** Redacted and previewed; the whole of a long one is kept beside the log. */
  const shown = (
    text: string,
    redacted = redactor.text(text),
  ): { preview: string; chars: number; artifact?: string } => {
    return { preview: preview(redacted), chars: text.length, ...port.artifacts.keep(redacted) };
  };
  /* These come as the pipe cuts them: a secret may lie in two pieces. */
  const stderr = redactor.stream();
  const spoken = port.state.spec?.transport === "process-pipe" ? redactor.stream() : null;
  const toolOutput = keyInParts(redactor);
  const late = (type: EventType): { late?: true } => (isLate(port.state, type) ? { late: true } : {});
  const put = (draft: EventDraft): void => {
    port.record(draft);
  };
  const putStderr = (redacted: string): void => {
    if (redacted !== "") put({ type: "worker.stderr", data: { preview: preview(redacted), ...late("worker.stderr") } });
  };
  const putSpoken = (redacted: string): void => {
    if (redacted !== "") put({ type: "worker.text", data: { ...shown(redacted, redacted), ...late("worker.text") } });
  };

  return (event) => {
    switch (event.type) {
      case "spawned": {
        const { containment, argv, envNames } = event;
        put({ type: "worker.spawned", data: { containment, argv: argv.map(clean), envNames } });
        return;
      }
      case "ready":
        return; // start() resolves with it; worker.started is recorded there, once
      case "init": {
        const { permissionMode, sessionId, model, tools } = event;
        const data = { permissionMode, sessionId, tools, ...(model === undefined ? {} : { model }) };
        put({ type: "worker.init", data: { ...data, ...late("worker.init") } });
        return;
      }
      case "hook":
        gate.hook(event);
        return;
      case "ask":
        gate.ask(event);
        return;
      case "cancelled":
        gate.cancelled(event.callId);
        return;
      case "tool-use": {
        const { toolUseId, toolName, parentToolUseId } = event;
        const parent = parentToolUseId === undefined ? {} : { parentToolUseId };
        put({ type: "tool.use", data: { toolUseId, toolName, ...parent, ...late("tool.use") } });
        return;
      }
      case "tool-result": {
        const { toolUseId, isError, wrapped, aborted, text } = event;
        const open = port.state.tools[toolUseId];
        if ((wrapped || aborted) && open?.gated !== true) {
          const toolName = open === undefined ? {} : { toolName: open.toolName };
          put({
            type: "gate.not-run",
            data: { toolUseId, ...toolName, why: wrapped ? "refused-before-hook" : "cut-off" },
          });
        }
        const data = { toolUseId, isError, wrapped, aborted, ...shown(text, toolOutput(text)) };
        put({ type: "tool.result", data: { ...data, ...late("tool.result") } });
        return;
      }
      case "text": {
        if (spoken !== null) return putSpoken(spoken.push(event.text));
        const parent = event.parentToolUseId === undefined ? {} : { parentToolUseId: event.parentToolUseId };
        const data = { ...shown(event.text), ...parent };
        put({ type: "worker.text", data: { ...data, ...late("worker.text") } });
        return;
      }
      case "stderr":
        putStderr(stderr.push(event.text));
        return;
      case "prompt-ack":
        put({ type: "prompt.ack", data: { promptId: event.promptId, state: event.state, ...late("prompt.ack") } });
        return;
      case "background": {
        const tasks = event.tasks.map((task) => ({
          ...task,
          description: preview(redactor.text(task.description), 200),
        }));
        put({ type: "worker.background", data: { tasks, ...late("worker.background") } });
        return;
      }
      case "session-state":
        put({ type: "worker.session-state", data: { state: event.state, ...late("worker.session-state") } });
        return;
      case "retry": {
        const { type: _type, ...data } = event;
        put({ type: "worker.retry", data: { ...data, ...late("worker.retry") } });
        return;
      }
      case "rate-limit": {
        const { type: _type, ...data } = event;
        put({ type: "worker.rate-limit", data: { ...data, ...late("worker.rate-limit") } });
        return;
      }
      case "conversation-reset": {
        const sessionId = event.sessionId === undefined ? {} : { sessionId: event.sessionId };
        put({ type: "worker.conversation-reset", data: { ...sessionId, ...late("worker.conversation-reset") } });
        return;
      }
      case "result": {
        const { type: _type, text, errors, deferred, ...rest } = event;
        const redacted = redactor.text(text);
        port.raw.keepText(LAST_WORDS, ending(redacted, LAST_WORDS_CHARS));
        const data = {
          ...rest,
          errors: errors.slice(0, 5).map((error) => preview(redactor.text(error), 500)),
          ...shown(text, redacted),
          ...saidOf(redacted),
          ...(deferred === undefined
            ? {}
            : { deferred: { toolUseId: deferred.toolUseId, toolName: deferred.toolName } }),
        };
        put({ type: "turn.result", data: { ...data, ...late("turn.result") } });
        return;
      }
      case "protocol-error": {
        const { type: _type, detail, ...data } = event;
        const text = preview(redactor.text(detail), 500);
        put({ type: "worker.protocol-error", data: { ...data, detail: text, ...late("worker.protocol-error") } });
        return;
      }
      case "unknown": {
        const { type: _type, ...data } = event;
        put({ type: "worker.unknown", data: { ...data, ...late("worker.unknown") } });
        return;
      }
      case "heartbeat":
        if (port.deps.clock.mono() - port.state.mono >= HEARTBEAT_MS) put({ type: "worker.heartbeat", data: {} });
        return;
      case "exited": {
        putStderr(stderr.end());
        if (spoken !== null) putSpoken(spoken.end());
        const stderrTail = ending(redactor.text(event.stderrTail.trim()), STDERR_CHARS);
        const tail = stderrTail === "" ? {} : { stderrTail };
        port.exited = port.worker;
        port.worker = null;
        /* The command may have ended it from outside: then this is a stop, and no failure. */
        port.estop.held();
        if (port.state.spec?.transport === "process-pipe" && event.code === 0) endOfPipe(port);
        const exitReason = exitReasonOf(port);
        put({ type: "worker.exited", data: { code: event.code, signal: event.signal, exitReason, ...tail } });
        return;
      }
      default:
        assertNever(event, "worker event");
    }
  };
}

/** Equal words have equal hashes, however they are laid out. */
function saidOf(redacted: string): { said?: string } {
  const words = redacted.replace(/\s+/g, " ").trim();
  return words === "" ? {} : { said: createHash("sha256").update(words).digest("hex").slice(0, 32) };
}

/** process-pipe knows one turn and no result message: its good exit is the turn's end. */
function endOfPipe(port: DriverPort): void {
  if (port.state.stop.kind !== "none" || port.state.worker.kind !== "live") return;
  const result = { subtype: "success", isError: false, errors: [], preview: "", chars: 0, permissionDenials: 0 };
  port.record({ type: "turn.result", data: result }, { type: "worker.ending", data: { why: "exhausted" } });
}

function exitReasonOf(port: DriverPort): string {
  const { stop, worker } = port.state;
  if (stop.kind !== "none") return "stop";
  return worker.kind === "ending" ? worker.why : "unexpected";
}
