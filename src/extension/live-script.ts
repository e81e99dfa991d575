/**
 * What makes a report's page a live one: the only script of ours. It hears of changes by server-sent events, fetches the same
 * page anew and takes over what differs, part by part, so that what a reader has opened or focused stays as it is.
 */
import { createHash } from "node:crypto";

const LIVE_SCRIPT = `
(() => {
  const status = document.getElementById("live");
  const say = (text) => { if (status.textContent !== text) status.textContent = text; };
  const keyOf = (one) => (one.closest("section[id]")?.id ?? "") + "|" + (one.querySelector("summary h3") ?? one.querySelector("summary"))?.textContent;
  const opened = (part) => new Map([...part.querySelectorAll("details")].map((one) => [keyOf(one), one.open]));
  const swap = (old, fresh) => {
    if (!old || !fresh || old.outerHTML === fresh.outerHTML) return;
    const states = opened(old);
    const focused = old.contains(document.activeElement) ? document.activeElement.closest("details") : null;
    const focusKey = focused && keyOf(focused);
    old.replaceWith(fresh);
    for (const one of fresh.querySelectorAll("details")) {
      const was = states.get(keyOf(one));
      if (was !== undefined) one.open = was;
      if (focusKey === keyOf(one)) one.querySelector("summary").focus({ preventScroll: true });
    }
  };
  let busy = false, again = false;
  const refresh = async () => {
    if (busy || document.hidden) { again = true; return; }
    busy = true; again = false;
    try {
      const reply = await fetch(location.pathname, { cache: "no-store", credentials: "omit" });
      if (!reply.ok) throw new Error(String(reply.status));
      const next = new DOMParser().parseFromString(await reply.text(), "text/html");
      swap(document.querySelector("header"), next.querySelector("header"));
      const main = document.querySelector("main > div"), wanted = next.querySelector("main > div");
      const parts = [...wanted.children];
      const same = main.children.length === parts.length && parts.every((one, at) => one.id === main.children[at].id);
      if (same) parts.forEach((one, at) => swap(main.children[at], one)); else swap(main, wanted);
      swap(document.querySelector("footer"), next.querySelector("footer"));
      document.title = next.title;
      say("Live: up to date at " + new Date().toLocaleTimeString() + ".");
    } catch {
      say("This view could not be brought up to date; the next change tries again.");
    }
    busy = false;
    if (again && !document.hidden) setTimeout(refresh, 500);
  };
  document.addEventListener("visibilitychange", () => { if (again) refresh(); });
  const source = new EventSource(location.pathname + "events");
  let ready = false;
  source.onmessage = refresh;
  source.onopen = () => { say("Live: it follows the task."); if (ready) refresh(); ready = true; };
  source.onerror = () => say("Not live any more: Pi has ended, or the view was closed. What stands here is the last that was known.");
})();
`;

/** With its hash for `script-src`. */
export const LIVE = {
  text: LIVE_SCRIPT,
  hash: `sha256-${createHash("sha256").update(LIVE_SCRIPT).digest("base64")}`,
} as const;
