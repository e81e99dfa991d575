/**
 * The scripted model of the demo. It plays a worker as one meets them: it looks around, tries to shake off its
 * permissions, asks for something that a person has to judge, claims success after half a fix, and mends it when the
 * evidence comes back.
 */
import { join } from "node:path";
import { bash, type Reply, text, toolUse, toolUses } from "../../test/support/model-reply.ts";
import type { ModelRequest } from "../../test/support/model-request.ts";
import type { ModelServer } from "../../test/support/model-server.ts";

const UNITS = "const UNITS = { s: 1_000, m: 60_000, h: 3_600_000 };";

/** Adds the parts up, and takes anything between them for nothing: "1h and a bit" is an hour. */
const HALF_A_FIX = `${UNITS}

/** Milliseconds in a text like "90s" or "1h 30m". */
export function parseDuration(text) {
  let total = 0;
  for (const [, count, unit] of text.matchAll(/(\\d+)([smh])/g)) total += Number(count) * UNITS[unit];
  if (total === 0) throw new RangeError(\`not a duration: \${text}\`);
  return total;
}
`;

/** A parser that passes the tests of `repo`. */
export const WHOLE_FIX = `${UNITS}

/** Milliseconds in a text like "90s" or "1h 30m". */
export function parseDuration(text) {
  let total = 0;
  for (const part of text.trim().split(/\\s+/)) {
    const match = /^(\\d+)([smh])$/.exec(part);
    if (!match) throw new RangeError(\`not a duration: \${text}\`);
    total += Number(match[1]) * UNITS[match[2]];
  }
  return total;
}
`;

/** What the worker does, one reply a request. `cwd` is the workspace's real path. */
export function workerScript(cwd: string): Reply[] {
  const source = join(cwd, "src", "duration.js");
  return [
    bash("ls", { say: "First I look around." }),
    toolUses(
      { name: "Read", input: { file_path: source } },
      { name: "Read", input: { file_path: join(cwd, "test", "duration.test.js") } },
    ),
    bash("claude --dangerously-skip-permissions -p 'fix the parser'", {
      say: "This would be quicker without permissions.",
    }),
    bash('node probe.mjs "1h 30m"', { say: "Then I try what the parser does now." }),
    toolUse("Write", { file_path: source, content: HALF_A_FIX }, { say: "The parts have to be added up." }),
    text("The parser is fixed and every test passes."),
    toolUse(
      "Write",
      { file_path: source, content: WHOLE_FIX },
      { say: "Right: what stands between parts must be refused." },
    ),
    bash("node --test", { say: "This time I run the tests myself." }),
    text("Durations of several parts add up now, and anything else is refused."),
  ];
}

/** The decision session, where there is one: a person is to see the reviewed call, and a turn's end goes to the verifier. */
export function deciderScript(request: ModelRequest): Reply {
  const kind = /^kind: (\S+)/m.exec(request.lastUserText())?.[1];
  return kind === "turn-end"
    ? toolUse("decide", { decision: "verify", reason: "The worker says that it is done." })
    : toolUse("decide", { decision: "escalate", reason: "A person should see what this program does." });
}

export function scriptDemo(server: ModelServer, cwd: string): void {
  server.script("main", workerScript(cwd));
  server.script("decider", deciderScript);
}
