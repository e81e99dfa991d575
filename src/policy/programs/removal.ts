/** Programs that remove, move away or cut files: the deletion floor decides. */
import { describe, type Invocation, type ProgramTable } from "../invocation.ts";
import { flagTable, has } from "../options.ts";
import { judgePath, placesOf } from "../paths/access.ts";
import { type Flow, NOTHING_KNOWN } from "../shell/flow.ts";
import { readable } from "../shell/marks.ts";
import { program } from "./reader.ts";
import { into, parties, simple, touchPaths } from "./targets.ts";

export const REMOVAL: ProgramTable = {
  mv: program("moves files; what it leaves or overwrites must be replaceable", move),
  rm: program("removes files", remove),
  rmdir: program("removes empty folders", removeEmpty),
  unlink: program("removes a file", remove),
  shred: program("destroys a file's content", shred),
  srm: program("destroys a file's content", shred),
  rimraf: program("removes folders", rimraf),
  del: program("removes files", rimraf),
  "del-cli": program("removes files", rimraf),
  trash: program("removes files", rimraf),
  shx: program("the shell's programs for packages", shx),
  truncate: program("cuts files", truncate),
};

const MOVE = flagTable(
  "-bfinTuv -t= -S= --force --interactive --no-clobber --update=? --verbose --target-directory= --no-target-directory --backup=? --suffix=",
);

function move(call: Invocation): undefined {
  const found = simple(call, MOVE);
  const { sources, target } = parties(found, "-t", "--target-directory");
  for (const source of sources) {
    judgePath(call.gate, call.state.folders, {
      value: source.value,
      glob: source.glob,
      access: "remove",
      sweeping: true,
      keepLast: true,
    });
  }
  if (target !== undefined) {
    into(call, sources, target, "write", true);
    const outside = [...placesOf(call.gate, call.state.folders, target.value, target.glob)].some(
      (place) => place === "outside" || place === "system",
    );
    if (outside)
      call.gate.report.review("floor.moves-out", "It moves files out of the workspace.", readable(describe(call)), {
        loss: "lost",
        floor: true,
      });
  }
  call.gate.report.allow("write.mv", "Git can bring back what it moves.");
  return undefined;
}

const REMOVE = flagTable(
  "-dfiIrRv --force --interactive=? --recursive --dir --verbose --one-file-system --preserve-root=?",
);

function remove(call: Invocation): undefined {
  const found = simple(call, REMOVE);
  if (call.args.some((arg) => arg.value === "--no-preserve-root")) {
    call.gate.report.deny("floor.system", "It would sweep a system folder.", readable(describe(call)));
  }
  const sweeping = has(found, "-r", "-R", "-f", "--recursive", "--force") || found.unknown.length > 0;
  touchPaths(call, found.operands, "remove", sweeping, true);
  call.gate.report.allow("write.rm", "Git can bring back what it removes.");
  return undefined;
}

function removeEmpty(call: Invocation): undefined {
  const found = simple(call, flagTable("-pv --parents --verbose --ignore-fail-on-non-empty"));
  for (const arg of found.operands)
    judgePath(call.gate, call.state.folders, {
      value: arg.value,
      glob: arg.glob,
      access: "remove",
      sweeping: true,
      keepLast: true,
    });
  call.gate.report.allow("write.rmdir", "It removes empty folders of the workspace.");
  return undefined;
}

function shred(call: Invocation): undefined {
  const found = simple(
    call,
    flagTable("-fuvxz -n= -s= --force --remove=? --verbose --zero --iterations= --size= --exact"),
  );
  touchPaths(call, found.operands, "remove", true);
  call.gate.report.allow("write.shred", "Git can bring back what it destroys.");
  return undefined;
}

function rimraf(call: Invocation): undefined {
  const found = simple(
    call,
    flagTable("-gvf --glob --no-glob --verbose --force --preserve-root --max-retries= --impl="),
  );
  touchPaths(call, found.operands, "remove", true);
  call.gate.report.allow("write.rimraf", "Git can bring back what it removes.");
  return undefined;
}

function shx(call: Invocation): Flow {
  return call.args.length === 0 ? NOTHING_KNOWN : call.walker.invoke(call.args, call);
}

function truncate(call: Invocation): undefined {
  const found = simple(call, flagTable("-co -s= -r=< --size= --no-create --reference=< --io-blocks"));
  touchPaths(call, found.operands, "redirect");
  call.gate.report.allow("write.truncate", "Git can bring back what it cuts.");
  return undefined;
}
