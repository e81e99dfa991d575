/** Which file runs which subcommand; each is loaded when it is used. */
import type { Supervisor } from "../../supervisor/api.ts";
import type { Answer, BadAnswer, Command, PlainCommand, Scene } from "../answer.ts";
import type { CommandName } from "../parse/spec.ts";

type Run = (scene: Scene, supervisor: Supervisor | undefined) => Promise<Answer | BadAnswer>;

/** `help`, `doctor` and the emergency stop work where the state directory does not. */
export function needsSupervisor(name: CommandName): boolean {
  return name !== "help" && name !== "doctor" && name !== "estop";
}

export const commands: Readonly<Record<CommandName, () => Promise<Run>>> = {
  start: async () => withSupervisor((await import("./start.ts")).start),
  status: async () => withSupervisor((await import("./status.ts")).status),
  sessions: async () => withSupervisor((await import("./sessions.ts")).sessions),
  send: async () => withSupervisor((await import("./send.ts")).send),
  approvals: async () => withSupervisor((await import("./approvals.ts")).approvals),
  approve: async () => withSupervisor((await import("./approve.ts")).approve),
  deny: async () => withSupervisor((await import("./deny.ts")).deny),
  answer: async () => withSupervisor((await import("./answer.ts")).answer),
  verify: async () => withSupervisor((await import("./verify.ts")).verify),
  stop: async () => withSupervisor((await import("./stop.ts")).stop),
  pause: async () => withSupervisor((await import("./pause.ts")).pause),
  resume: async () => withSupervisor((await import("./recover.ts")).resume),
  recover: async () => withSupervisor((await import("./recover.ts")).recover),
  takeover: async () => withSupervisor((await import("./takeover.ts")).takeover),
  handback: async () => withSupervisor((await import("./handback.ts")).handback),
  discard: async () => withSupervisor((await import("./discard.ts")).discard),
  kill: async () => withSupervisor((await import("./kill.ts")).kill),
  log: async () => withSupervisor((await import("./log.ts")).log),
  replay: async () => withSupervisor((await import("./replay.ts")).replay),
  report: async () => withSupervisor((await import("./report.ts")).report),
  policy: async () => withSupervisor((await import("./policy.ts")).policy),
  doctor: async () => plain((await import("./doctor.ts")).doctor),
  estop: async () => plain((await import("./estop.ts")).estop),
  help: async () => plain((await import("./help.ts")).help),
};

/** The parser pairs a call with its own command; here that pairing meets the table. */
function withSupervisor<N extends CommandName>(command: Command<N>): Run {
  return async (scene, supervisor) => {
    if (supervisor === undefined) throw new Error(`${scene.call.command} was run without a supervisor`);
    return command(scene as unknown as Scene<N>, supervisor);
  };
}

function plain<N extends CommandName>(command: PlainCommand<N>): Run {
  return (scene) => command(scene as unknown as Scene<N>);
}
