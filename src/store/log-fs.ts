/** The system calls of the event log, as a port: tests play full and broken disks with it. */
import { closeSync, constants, fdatasync, fstatSync, ftruncateSync, openSync, readSync, writeSync } from "node:fs";

export interface LogFs {
  /** Opens an existing file: `append` = read and O_APPEND, else read. Never follows a link, never blocks. */
  open(path: string, mode: "append" | "read"): number;
  /** One write call; returns how much it took. */
  write(fd: number, bytes: Uint8Array, offset: number, length: number): number;
  read(fd: number, into: Uint8Array, offset: number, length: number, position: number): number;
  stat(fd: number): { size: number; ino: number; dev: number; nlink: number };
  truncate(fd: number, size: number): void;
  /** Resolves when the data is on the disk, rejects with a system error. */
  datasync(fd: number): Promise<void>;
  close(fd: number): void;
}

const NO_LINK = constants.O_NOFOLLOW | constants.O_NONBLOCK;

export const nodeLogFs: LogFs = {
  open: (path, mode) =>
    openSync(path, mode === "append" ? constants.O_RDWR | constants.O_APPEND | NO_LINK : constants.O_RDONLY | NO_LINK),
  write: (fd, bytes, offset, length) => writeSync(fd, bytes, offset, length, null),
  read: (fd, into, offset, length, position) => readSync(fd, into, offset, length, position),
  stat: (fd) => fstatSync(fd),
  truncate: (fd, size) => ftruncateSync(fd, size),
  datasync: (fd) =>
    new Promise((done, fail) => {
      fdatasync(fd, (error) => (error === null ? done() : fail(error)));
    }),
  close: (fd) => closeSync(fd),
};
