/** One line of a diagnosis. */
export interface Finding {
  /** Stable, kebab-case. */
  check: string;
  level: "ok" | "warning" | "error";
  /** What was found, one sentence. */
  found: string;
  /** What to do about it; null where nothing has to be done. */
  fix: string | null;
}

export function ok(check: string, found: string): Finding {
  return { check, level: "ok", found, fix: null };
}

export function warning(check: string, found: string, fix: string): Finding {
  return { check, level: "warning", found, fix };
}

export function fault(check: string, found: string, fix: string): Finding {
  return { check, level: "error", found, fix };
}

/** Our failure texts end with what to do: the last sentence becomes the fix. */
export function faultOf(check: string, message: string): Finding {
  const parts = message.trim().split(/(?<=[.!?])\s+(?=[A-Z])/);
  const fix = parts.length > 1 ? (parts.pop() ?? "") : "See docs/troubleshooting.md.";
  return fault(check, parts.join(" "), fix);
}
