/** Notices as bodies of the three formats: redacted, without hidden characters, at most `MAX_BODY_BYTES`. */

import type { Notice } from "../core/contracts/notice.ts";
import type { Redactor } from "../core/contracts/redaction.ts";
import { assertNever } from "../core/result.ts";
import { cut, withoutHidden } from "../core/text.ts";

export type WebhookFormat = "generic" | "slack" | "wecom";

export const MAX_BODY_BYTES = 4_096;
/** WeCom's own bound of a text message (its group robot documentation: content at most 2,048 bytes in UTF-8). */
const MAX_WECOM_BYTES = 2_048;

/** The body as JSON text. */
export function payloadOf(notice: Notice, format: WebhookFormat, redactor: Redactor): string {
  const clean = cleaned(notice, redactor);
  switch (format) {
    case "generic":
      return fitting(clean, (one) => generic(one), MAX_BODY_BYTES);
    case "slack":
      return fitting(clean, (one) => JSON.stringify({ text: slackText(plain(one)) }), MAX_BODY_BYTES);
    case "wecom":
      return fitting(
        clean,
        (one) => JSON.stringify({ msgtype: "text", text: { content: plain(one) } }),
        MAX_WECOM_BYTES,
      );
    default:
      return assertNever(format, "webhook format");
  }
}

interface Clean {
  notice: Notice;
  title: string;
  text: string;
  next: string[];
}

function cleaned(notice: Notice, redactor: Redactor): Clean {
  // Redacted whole, since a secret that was cut in two would no longer be known; and again when what hid in it is gone.
  const text = (value: string): string => redactor.text(withoutHidden(redactor.text(value)));
  const line = (value: string, max: number): string => cut(text(value).replace(/\s+/g, " ").trim(), max);
  const { request } = notice;
  return {
    notice: {
      ...notice,
      id: line(notice.id, 100),
      taskId: line(notice.taskId, 100),
      state: line(notice.state, 50),
      ...(notice.host === undefined ? {} : { host: line(notice.host, 100) }),
      ...(request === undefined
        ? {}
        : {
            request: {
              requestId: line(request.requestId, 100),
              kind: line(request.kind, 50),
              ...(request.toolName === undefined ? {} : { toolName: line(request.toolName, 100) }),
            },
          }),
    },
    title: line(notice.title, 200),
    text: cut(text(notice.text ?? "").trim(), MAX_BODY_BYTES),
    next: (notice.next ?? []).slice(0, 5).map((one) => line(one, 200)),
  };
}

function generic({ notice, title, text, next }: Clean): string {
  const { id, at, reason, taskId, state, host, request } = notice;
  return JSON.stringify({
    v: 1,
    event: "escalation",
    id,
    at: at.toISOString(),
    reason,
    taskId,
    state,
    title,
    ...(text === "" ? {} : { text }),
    ...(request === undefined ? {} : { request }),
    ...(next.length === 0 ? {} : { next }),
    ...(host === undefined ? {} : { host }),
  });
}

function plain({ notice, title, text, next }: Clean): string {
  const where = notice.host === undefined ? notice.taskId : `${notice.taskId} on ${notice.host}`;
  return [`[${notice.reason}] ${title}`, `${where}: ${notice.state}`, ...(text === "" ? [] : [text]), ...next].join(
    "\n",
  );
}

/** Slack reads `<…>` as links and mentions (`<!channel>`): its three signs are escaped, as its documentation says. */
function slackText(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/** Shortens the text until the body fits; what is left then is bounded by itself. */
function fitting(clean: Clean, build: (clean: Clean) => string, maxBytes: number): string {
  let body = build(clean);
  let { text, next } = clean;
  while (Buffer.byteLength(body) > maxBytes && (text !== "" || next.length > 0)) {
    const over = Buffer.byteLength(body) - maxBytes;
    // A character takes between one and twelve bytes in JSON, so that this ends after a few rounds.
    if (text !== "") text = text.length > 40 ? cut(text, Math.max(20, text.length - Math.ceil(over / 12) - 1)) : "";
    else next = next.slice(0, -1);
    body = build({ ...clean, text, next });
  }
  return body;
}
