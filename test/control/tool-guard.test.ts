/** Pi's own agent may stop and look, and neither lift nor touch. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { type GuardedPlaces, guardToolCall } from "../../src/control/tool-guard.ts";

const HOME = "/home/ann";
const STATE = `${HOME}/.local/share/pi-claude-supervisor`;
const places: GuardedPlaces = {
  roots: [STATE, `${STATE}/control`, "/var/tmp/pi-claude-supervisor-stop-1000", `${HOME}/.config/pi-claude-supervisor`],
  cwd: `${HOME}/project`,
  home: HOME,
  realPath: (path) => path.replace(`${HOME}/project/link`, STATE),
};
const bash = (command: string) => guardToolCall({ toolName: "bash", input: { command } }, places);

const REFUSED = [
  "pi-claude-supervisor-control --all resume --epoch 1 --reason x",
  "node dist/cli/control.js --all resume --epoch 1 --reason x",
  "npx pi-claude-supervisor-control --all resume --epoch 1",
  "npm run control -- --all resume --epoch 2",
  "pi-claude-supervisor-control shared-lift",
  "pi-claude-supervisor-control shared-stop; true",
  "pi-claude-supervisor-control shared-folder /var/tmp",
  `"pi-claude-supervisor-control" '--all' re"sume" --epoch 1`,
  `pi-claude-\\supervisor-control --all resume`,
  "true && (pi-claude-supervisor-control --all resume)",
  `bash -c "pi-claude-supervisor-control --all resume --epoch 1"`,
  `bash -c "bash -c 'pi-claude-supervisor-control --all resume'"`,
  `script -qc "pi-claude-supervisor-control --all resume --epoch 1" /dev/null`,
  "V=resume; pi-claude-supervisor-control --all $V --epoch 1",
  "pi-claude-supervisor-control --all $(echo cmVzdW1l | base64 -d)",
  "echo --all resume | xargs pi-claude-supervisor-control",
  `echo "$(pi-claude-supervisor-control --all resume)"`,
  'echo "`pi-claude-supervisor-control --all resume`"',
  `echo "$(rm -rf ~/.local)"`,
  "sudo -u ann pi-claude-supervisor-control --all resume",
  `rm ${STATE}/control/STOP-ALL`,
  "rm -f ~/.local/share/pi-claude-supervisor/control/latch.json",
  "rm -rf $HOME/.local/share/pi-claude-supervisor",
  "rm -rf ~/.local",
  "rm -rf ~/.local/sh*",
  "rm -rf ../.local",
  "cd ~/.local/share && rm -rf pi-claude-supervisor",
  "mv ~/.local/share ~/elsewhere",
  "chmod -R 777 ~",
  "chown -R root /home",
  "echo x > ~/.local/share/pi-claude-supervisor/control/latch.json",
  "cat x >> ~/.local/share/pi-claude-supervisor/control/latch.json",
  "echo clear 2>/dev/null >~/.local/share/pi-claude-supervisor/control/latch.json",
  "cp /tmp/old.json ~/.local/share/pi-claude-supervisor/control/latch.json",
  "ln -s /tmp ~/.local/share/pi-claude-supervisor/control/x",
  "tee ~/.config/pi-claude-supervisor/shared-folder.json",
  "sed -i s/stopped/clear/ ~/.local/share/pi-claude-supervisor/control/latch.json",
  "find ~/.local -name '*.json' -delete",
  "find ~/.local -exec rm {} +",
  "sort -o ~/.local/share/pi-claude-supervisor/control/latch.json /tmp/x",
  `python3 -c "open('${STATE}/control/latch.json','w').write('')"`,
  `node -e "require('fs').unlinkSync('${STATE}/control/STOP-ALL')"`,
  "rm /var/tmp/pi-claude-supervisor-stop-1000/stop",
  "rmdir /var/tmp/pi-claude-supervisor-stop-1000",
  "dd if=/dev/null of=/home/ann/.local/share/pi-claude-supervisor/control/latch.json",
  "truncate -s0 link/control/latch.json",
  "cd $X && rm STOP-ALL",
];

const ALLOWED = [
  "pi-claude-supervisor-control --all status",
  "pi-claude-supervisor-control --all stop --reason 'resume later'",
  'pi-claude-supervisor-control t-1 pause --reason "$WHY" --json',
  "pi-claude-supervisor-control --help | head",
  "pi-claude-supervisor-control drill && echo ok",
  "cat ~/.local/share/pi-claude-supervisor/control/latch.json",
  "ls -la ~/.local/share/pi-claude-supervisor | grep control",
  "grep -rn pi-claude-supervisor-control README.md",
  "which pi-claude-supervisor-control",
  "rm -rf node_modules dist",
  "rm -rf /tmp/x ~/project/build",
  "mv a b && cp c d",
  "npm test",
  "npm install pi-claude-supervisor",
  "git commit -m 'docs: resume and shared-stop of pi-claude-supervisor-control'",
  "echo resume",
  "find . -name '*.tmp' -delete",
  "chmod +x ~/project/run.sh",
  "python3 -c 'print(1)'",
  "rm ~/project/STOP-ALL",
  "",
];

describe("Pi's agent", () => {
  for (const command of REFUSED) {
    test(`may not: ${command.slice(0, 90)}`, () => {
      const verdict = bash(command);
      assert.ok(verdict.block, command);
      assert.match(verdict.reason, /this filter catches mistakes/);
    });
  }
  for (const command of ALLOWED) {
    test(`may: ${command.slice(0, 90)}`, () => assert.deepEqual(bash(command), { block: false }));
  }

  const calls: { name: string; toolName: string; input: unknown; block: boolean }[] = [
    { name: "read the record", toolName: "read", input: { path: `${STATE}/control/latch.json` }, block: false },
    {
      name: "write the record",
      toolName: "write",
      input: { path: `${STATE}/control/latch.json`, content: "" },
      block: true,
    },
    {
      name: "write by a home path",
      toolName: "write",
      input: { path: "~/.local/share/pi-claude-supervisor/control/x" },
      block: true,
    },
    { name: "edit through a link", toolName: "edit", input: { path: "link/control/latch.json" }, block: true },
    {
      name: "write by a way round",
      toolName: "write",
      input: { path: "../.config/pi-claude-supervisor/stop" },
      block: true,
    },
    {
      name: "write about the stop in its own project",
      toolName: "write",
      input: { path: "docs/stop.md", content: `pi-claude-supervisor-control --all resume ${STATE}` },
      block: false,
    },
    { name: "run a command that is none", toolName: "bash", input: { command: 3 }, block: true },
    { name: "run nothing at all", toolName: "bash", input: null, block: true },
    {
      name: "run a command longer than can be checked",
      toolName: "bash",
      input: { command: "x".repeat(70_000) },
      block: true,
    },
    {
      name: "use an unknown tool on the folder",
      toolName: "mystery",
      input: { a: { b: [`${STATE}/control`] } },
      block: true,
    },
    { name: "use an unknown tool elsewhere", toolName: "mystery", input: { a: { b: ["/tmp"] } }, block: false },
  ];
  for (const { name, toolName, input, block } of calls) {
    test(`${block ? "may not" : "may"} ${name}`, () => {
      assert.equal(guardToolCall({ toolName, input }, places).block, block);
    });
  }

  test("gets an answer to whatever it calls, and a named target is never let through to a program that writes", () => {
    fc.assert(
      fc.property(fc.string(), fc.jsonValue(), (tool, input) => {
        assert.equal(typeof guardToolCall({ toolName: tool, input }, places).block, "boolean");
      }),
    );
    const separators = fc.constantFrom(" ; ", "\n", " && ", " | ", " & ");
    const filler = fc.constantFrom("true", "echo 'a b'", "X=1", "ls -la", `printf "%s" x`, "cd /tmp");
    const target = fc.constantFrom(`${STATE}/control/latch.json`, `'${STATE}'/control`, `"${STATE}/control/STOP-ALL"`);
    const writer = fc.constantFrom("rm -rf", "tee", "cp /dev/null", "sudo rm", "env A=1 rm", "> ", "python3 x.py");
    fc.assert(
      fc.property(filler, separators, writer, target, filler, (before, separator, program, path, after) => {
        assert.ok(bash(`${before}${separator}${program} ${path}${separator}${after}`).block);
      }),
    );
  });
});
