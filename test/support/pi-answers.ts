/**
 * Finds the command that a JSON answer belongs to. Several commands may be open at once and answer in any order, so an
 * answer goes to the oldest open command with the same word after the slash command; among those, one that names the
 * answer's `taskId` or `requestId` as an argument comes first, and one that names another task (an id seen in an earlier
 * answer) never gets it. An answer that no open command waits for is kept in `unclaimed`.
 */
import { parseObject } from "./json-lines.ts";

export type Json = Readonly<Record<string, unknown>>;

export interface OpenCommand {
  /** As sent. */
  readonly text: string;
  readonly word: string;
  readonly args: readonly string[];
  readonly resolve: (answer: Json) => void;
  readonly reject: (error: Error) => void;
}

export class PiAnswers {
  readonly unclaimed: Json[] = [];
  readonly #open: OpenCommand[] = [];
  readonly #taskIds = new Set<string>();

  open(command: OpenCommand): void {
    this.#open.push(command);
  }

  close(command: OpenCommand): void {
    const at = this.#open.indexOf(command);
    if (at >= 0) this.#open.splice(at, 1);
  }

  rejectAll(error: Error): void {
    for (const command of this.#open.splice(0)) command.reject(error);
  }

  /** Rejects the command that was sent as `text`. */
  reject(text: string, error: Error): void {
    const command = this.#open.find((open) => open.text === text);
    if (!command) return;
    this.close(command);
    command.reject(error);
  }

  /** Takes the text of a `notify`; what is no JSON answer is left alone. */
  take(text: string): void {
    const answer = parseObject(text);
    if (!answer || typeof answer.command !== "string") return;
    const ids = [answer.taskId, answer.requestId].filter((id) => typeof id === "string");
    if (typeof answer.taskId === "string") this.#taskIds.add(answer.taskId);
    const candidates = this.#open.filter((command) => command.word === answer.command);
    const winner =
      candidates.find((command) => ids.some((id) => command.args.includes(id))) ??
      candidates.find((command) => !this.#namesAnotherTask(command, answer.taskId));
    if (!winner) {
      this.unclaimed.push(answer);
      return;
    }
    this.close(winner);
    winner.resolve(answer);
  }

  #namesAnotherTask(command: OpenCommand, taskId: unknown): boolean {
    return typeof taskId === "string" && command.args.some((word) => word !== taskId && this.#taskIds.has(word));
  }
}
