/** What the gate goes by for one task, as data for `policy show`. */
import type { PolicyContext, PolicyRule, Profile } from "../core/contracts/policy.ts";
import { PLACES } from "./paths/places.ts";
import { tables } from "./programs/registry.ts";

export interface EffectivePolicy {
  profile: Profile;
  workspace: string;
  protectedFolders: readonly string[];
  frozenVerify: readonly string[];
  rules: readonly PolicyRule[];
  allowedHosts: readonly string[];
  /** Verdicts by place and access. */
  places: readonly {
    place: string;
    reason: string;
    read: string;
    edit: string;
    write: string;
    redirect: string;
    remove: string;
    change: string;
  }[];
  /** Programs the gate knows, by table, each with the reason why it stands there. */
  programs: Readonly<Record<string, readonly { name: string; reason: string }[]>>;
}

export function describeEffectivePolicy(context: PolicyContext): EffectivePolicy {
  return {
    profile: context.profile,
    workspace: context.workspace,
    protectedFolders: [context.stateDir, ...(context.protectedDirs ?? [])],
    frozenVerify: context.frozenVerify,
    rules: context.rules ?? [],
    allowedHosts: context.allowedHosts ?? [],
    places: Object.entries(PLACES).map(([place, { reason, read, edit, write, redirect, remove, change }]) => ({
      place,
      reason,
      read,
      edit,
      write,
      redirect,
      remove,
      change,
    })),
    programs: Object.fromEntries(
      Object.entries(tables()).map(([table, programs]) => [
        table,
        Object.entries(programs).map(([name, { reason }]) => ({ name, reason })),
      ]),
    ),
  };
}
