/** The two shell programs beside this file. `/bin/sh` is POSIX's; `process.execPath` may be Pi's own binary. */
import { fileURLToPath } from "node:url";

export const SHELL = "/bin/sh";
export const LAUNCHER = fileURLToPath(new URL("./launcher.sh", import.meta.url));
export const GUARDIAN = fileURLToPath(new URL("./guardian.sh", import.meta.url));
