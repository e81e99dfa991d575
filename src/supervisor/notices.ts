/**
 * Tells people who are not looking that a task needs them: through the webhook of the configuration, which is read again for
 * each notice, and through whoever shows calls on this machine. One notice a wait, whatever else happens meanwhile; waits of one task that begin together are one notice; a
 * cause that stops several tasks (the login, the model service) is told once for all of them and all processes.
 *
 * A notice changes nothing: it is sent after the wait stands on disk, and its failure is said once.
 *
 * Memory: the calls of one second and the keys of the newest ones, at most `MAX_GATHERED` each, and what the webhook has under way.
 */
import { createHash } from "node:crypto";
import { type Call, callsFor, newCalls } from "../core/attention.ts";
import { classifyResult } from "../core/classify.ts";
import type { Notice, PersonCalled } from "../core/contracts/notice.ts";
import type { EventMap, TaskEvent } from "../core/events.ts";
import { isKnown } from "../core/fold.ts";
import { stateName } from "../core/machine/project.ts";
import type { TaskState } from "../core/machine/state.ts";
import { createWebhook, type Webhook } from "../notify/index.ts";
import type { Settings } from "../store/config.ts";
import type { TaskUpdate } from "./api.ts";
import { configOf, webhookSecrets } from "./config.ts";
import type { SupervisorDeps } from "./deps.ts";
import { createSharedCauses, MODEL_SERVICE } from "./shared-causes.ts";

export interface NoticesOptions {
  deps: SupervisorDeps;
  /** Puts what came of a notice into the task's log, or shows it where the task has none any more. */
  record(taskId: string, event: NoticeOutcome): void;
  /** Somebody on this machine may show it, whether or not there is a webhook. */
  called?(call: PersonCalled): void;
}

export type NoticeOutcome =
  | { type: "person.called"; data: EventMap["person.called"] }
  | { type: "notice"; data: EventMap["notice"] };

export interface Notices {
  update(update: TaskUpdate): void;
  /** Sends what was gathered, at once. */
  flush(): void;
  /** Sends what was gathered, waits a moment for it, then ends all. Can be called twice. */
  close(ms: number): Promise<void>;
}

/** Waits that begin within this time are one notice, and an answer within it needs none (ms). */
const GATHER_MS = 1_000;
const MAX_GATHERED = 500;
const GOAL_CHARS = 200;

interface Gathered {
  call: Call;
  at: string;
  state: TaskState;
}

type WebhookSettings = Pick<
  Settings,
  "webhook.url" | "webhook.format" | "webhook.secret" | "webhook.allowPrivate" | "webhook.completed" | "terminalNotices"
>;

export function createNotices({ deps, record, called }: NoticesOptions): Notices {
  const causes = createSharedCauses(deps);
  const gathered = new Map<string, Gathered>();
  /** Waits that were told: a look of a person at one (a verification, say) does not make it a new one. */
  const told = new Set<string>();
  const underWay = new Set<Promise<void>>();
  let cancel: (() => void) | undefined;
  let hook: { key: string; webhook: Webhook } | undefined;
  let known: WebhookSettings | undefined;
  let said: string | undefined;
  let closed = false;

  /** The settings of now; those of before while the file can't be read. */
  const settings = (): WebhookSettings | undefined => {
    const loaded = configOf(deps, undefined);
    if (loaded.ok) known = loaded.config.settings;
    return known;
  };

  const webhookOf = (wanted: WebhookSettings): Webhook | undefined => {
    const url = wanted["webhook.url"];
    const key = JSON.stringify([
      url,
      wanted["webhook.format"],
      wanted["webhook.secret"],
      wanted["webhook.allowPrivate"],
    ]);
    if (hook?.key === key) return hook.webhook;
    hook?.webhook.close();
    hook = undefined;
    if (url === undefined) return undefined;
    const secret = wanted["webhook.secret"];
    const webhook = createWebhook({
      url,
      format: wanted["webhook.format"],
      ...(secret === undefined ? {} : { secret }),
      allowPrivate: wanted["webhook.allowPrivate"],
      redactor: deps.createRedactor({ salt: deps.salt, known: webhookSecrets(wanted) }),
      clock: deps.clock,
    });
    hook = { key, webhook };
    return webhook;
  };

  const send = async (webhook: Webhook, notice: Notice): Promise<void> => {
    const sent = await webhook.send(notice);
    if (!sent.ok && sent.reason === "closed") return;
    const { id, reason, taskId } = notice;
    const outcome = sent.ok ? { ok: true } : { ok: false, failure: sent.reason };
    record(taskId, { type: "person.called", data: { noticeId: id, reason, via: "webhook", ...outcome } });
    if (sent.ok) {
      said = undefined;
    } else if (said !== sent.reason) {
      said = sent.reason;
      const text = `The webhook was not told that a person is needed: ${sent.message} The task waits all the same.`;
      record(taskId, { type: "notice", data: { level: "warning", text } });
    }
  };

  const flush = (): void => {
    cancel?.();
    cancel = undefined;
    const standing = [...gathered.values()].filter(({ call, state }) => stillStands(call, state));
    gathered.clear();
    if (standing.length === 0) return;
    const wanted = settings();
    if (wanted === undefined) return;
    const fresh = standing.filter(({ call }) => !told.has(call.key));
    for (const { call } of fresh) remember(told, call.key);
    const terminal = wanted.terminalNotices;
    if (terminal !== "off") for (const group of grouped(fresh)) called?.(calledOf(group, terminal));
    const webhook = webhookOf(wanted);
    if (webhook === undefined) return;
    for (const group of grouped(
      fresh.filter(({ call }) => call.reason !== "completed" || wanted["webhook.completed"]),
    )) {
      const { shared } = group[0].call;
      if (shared !== null && !causes.claim(shared)) continue;
      const sending: Promise<void> = send(webhook, noticeOf(group, deps.host)).finally(() => underWay.delete(sending));
      underWay.add(sending);
    }
  };

  return {
    update({ taskId, event, before, after }) {
      if (closed || event.seq === 0 || !isKnown(event.type)) return;
      const known = event as unknown as TaskEvent;
      if (known.type === "turn.result" && classifyResult(known.data).ok) causes.over(MODEL_SERVICE);
      if (known.type === "automation.changed" && known.data.to === "on") causes.over(["automation-off"]);
      if (known.type === "budget.renewed") causes.over([known.data.budget]);
      for (const one of gathered.values()) if (one.state.taskId === taskId) one.state = after;
      for (const call of newCalls(before, after, known)) {
        if (gathered.size >= MAX_GATHERED) flush();
        gathered.set(call.key, { call, at: event.at, state: after });
      }
      if (gathered.size > 0) cancel ??= deps.clock.setTimer(GATHER_MS, flush, { background: true });
    },
    flush,
    async close(ms) {
      if (closed) return;
      closed = true;
      flush();
      let stop = (): void => undefined;
      const late = new Promise<void>((resolve) => {
        stop = deps.clock.setTimer(ms, resolve, { background: true });
      });
      if (underWay.size > 0) await Promise.race([Promise.allSettled([...underWay]), late]);
      stop();
      hook?.webhook.close();
    },
  };
}

function remember(told: Set<string>, key: string): void {
  told.add(key);
  const oldest = told.size > MAX_GATHERED ? told.values().next().value : undefined;
  if (oldest !== undefined) told.delete(oldest);
}

/** A wait that is over needs nobody. */
function stillStands(call: Call, state: TaskState): boolean {
  return call.once === true || callsFor(state).some((one) => one.key === call.key);
}

type Group = [Gathered, ...Gathered[]];

/** What one notice tells: all waits of a task, or all tasks of one cause. */
function grouped(all: readonly Gathered[]): Group[] {
  const groups = new Map<string, Group>();
  for (const one of all) {
    const key = one.call.shared === null ? `task ${one.state.taskId}` : `cause ${one.call.shared}`;
    const group = groups.get(key);
    if (group) group.push(one);
    else groups.set(key, [one]);
  }
  return [...groups.values()];
}

function titleOf([{ call }, ...more]: Group): string {
  return more.length === 0 ? call.title : `${call.title} (and ${more.length} more)`;
}

function calledOf(group: Group, terminal: PersonCalled["terminal"]): PersonCalled {
  const [{ call, state }] = group;
  const goal = (state.spec?.goal ?? "").slice(0, GOAL_CHARS);
  return { taskId: state.taskId, reason: call.reason, title: titleOf(group), goal, terminal };
}

function noticeOf(group: Group, host: string): Notice {
  const [{ call, at, state }] = group;
  const more = group.slice(1).map((one) => one.call);
  const others = call.shared === null ? more.map((one) => one.title) : [...new Set(more.map((one) => one.title))];
  const goal = state.spec === null ? [] : [`Goal: ${state.spec.goal.slice(0, GOAL_CHARS)}`];
  const approvals = more.some((one) => one.request !== undefined) ? ["/supervise approvals"] : [];
  return {
    id: `n-${createHash("sha256").update(call.key).digest("hex").slice(0, 24)}`,
    at: new Date(at),
    reason: call.reason,
    taskId: state.taskId,
    state: stateName(state),
    title: titleOf(group),
    text: [call.text, ...others, ...goal].join("\n"),
    next: [...call.next, ...approvals],
    ...(call.request === undefined ? {} : { request: call.request }),
    host,
  };
}
