/**
 * Everything between the bytes of Claude's stdout and worker events, without a process: framing, control channel,
 * message mapping. A line is scanned, decoded and parsed once, and nothing here waits.
 */
import type { WorkerEvent } from "../../core/contracts/worker.ts";
import { type FrameError, FrameReader, type WireMessage } from "../framing/frame-reader.ts";
import { ControlChannel, type ControlChannelOptions, type Taken } from "./control-channel.ts";
import { type Mapped, MessageMapper } from "./message-mapper.ts";

export interface ClaudeStreamOptions extends ControlChannelOptions {
  frameError(error: FrameError): void;
  /** Told of each message after its events were published. */
  observe?(message: WireMessage, mapped: Mapped | Taken): void;
}

export class ClaudeStream {
  readonly control: ControlChannel;
  readonly reader: FrameReader;
  readonly #mapper: MessageMapper;
  readonly #observe: ClaudeStreamOptions["observe"];
  #brokenLines = 0;

  constructor(options: ClaudeStreamOptions) {
    this.control = new ControlChannel(options);
    this.#mapper = new MessageMapper((event: WorkerEvent) => options.publish(event));
    this.#observe = options.observe;
    this.reader = new FrameReader({
      message: (message) => this.#message(message),
      error: (error) => {
        this.#brokenLines++;
        options.frameError(error);
      },
    });
  }

  /** Lines read so far, blank ones not counted. */
  get lines(): number {
    return this.reader.messages + this.reader.noise + this.#brokenLines;
  }

  push(chunk: Buffer): void {
    this.reader.push(chunk);
  }

  end(): void {
    this.reader.end();
  }

  #message(message: WireMessage): void {
    const mapped = this.control.take(message) ?? this.#mapper.map(message);
    this.#observe?.(message, mapped);
  }
}
