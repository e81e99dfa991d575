/** Finds a function that starts itself in a pipe or in the background. Bounded: 2,000 steps. */
import type { AndOr, CommandNode, CompoundList, PipelineNode, Statement } from "unbash";

/** Whether the body starts the function in a pipe or in the background: the fork bomb under any name. */
export function callsItself(name: string, body: CompoundList | CommandNode): boolean {
  const stack: { node: unknown; spawned: boolean }[] = [{ node: body, spawned: false }];
  let steps = 0;
  while (stack.length > 0 && steps < 2_000) {
    steps += 1;
    const item = stack.pop();
    if (item === undefined) break;
    const { node, spawned } = item;
    if (typeof node !== "object" || node === null || !("type" in node)) continue;
    const typed = node as CommandNode | CompoundList | Statement | AndOr | PipelineNode;
    if (typed.type === "Command" && typed.name?.value === name && spawned) return true;
    if (typed.type === "Statement") stack.push({ node: typed.command, spawned: spawned || typed.background === true });
    else if (typed.type === "Pipeline") {
      for (const command of typed.commands)
        stack.push({ node: command, spawned: spawned || typed.commands.length > 1 });
    } else if (typed.type === "CompoundList" || typed.type === "AndOr")
      for (const command of typed.commands) stack.push({ node: command, spawned });
    else if (typed.type === "Subshell" || typed.type === "BraceGroup") stack.push({ node: typed.body, spawned });
    else if (typed.type === "Redirected") stack.push({ node: typed.command, spawned });
    else if (typed.type === "If") stack.push({ node: typed.then, spawned }, { node: typed.clause, spawned });
    else if (typed.type === "While" || typed.type === "For") stack.push({ node: typed.body, spawned });
  }
  return false;
}
