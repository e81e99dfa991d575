/** Small pieces that every section uses. */
import type { Tone } from "../model.ts";
import type { Step } from "../steps.ts";
import { type Clock, number } from "../words.ts";
import { type Html, html, inline, type Part } from "./html.ts";

/** A section with its heading, or nothing where there is nothing to say. */
export function section(id: string, title: string, ...body: readonly Part[]): Html {
  return html`<section id="${id}" aria-labelledby="${id}-h"><h2 id="${id}-h">${title}</h2>
${body}</section>
`;
}

export function tag(text: string, tone?: Tone): Html {
  return tone === undefined ? html`<span class="tag">${text}</span>` : html`<span class="tag ${tone}">${text}</span>`;
}

export function timeOf(iso: string, clock: Clock): Html {
  return html`<time datetime="${iso}">${clock.time(iso)}</time>`;
}

export function momentOf(iso: string, clock: Clock): Html {
  return html`<time datetime="${iso}">${clock.moment(iso)}</time>`;
}

/** Text of the outside in a block. A long one scrolls, and so takes the keyboard's focus. */
export function block(text: string, label: string): Html {
  const lines = text.split("\n").length;
  return lines > 16 || text.length > 1_200
    ? html`<pre dir="auto" tabindex="0" role="region" aria-label="${inline(label, 120)}">${text}</pre>`
    : html`<pre dir="auto">${text}</pre>`;
}

/** A table that a narrow screen scrolls; `wide` takes the whole width. */
export function table(caption: string, heads: readonly Part[], rows: readonly Html[], wide = false): Html {
  return html`<div class="scroll" tabindex="0" role="region" aria-label="${caption}">${wide ? html`<table class="wide">` : html`<table>`}<caption>${caption}</caption>
<thead><tr>${heads}</tr></thead>
<tbody>${rows}</tbody></table></div>
`;
}

export function th(text: string, kind = ""): Html {
  return kind === "" ? html`<th scope="col">${text}</th>` : html`<th scope="col" class="${kind}">${text}</th>`;
}

/** Names and values. */
export function facts(caption: string, rows: readonly (readonly [string, Part])[]): Html {
  return html`<table class="facts"><caption>${caption}</caption><tbody>
${rows.map(([name, value]) => html`<tr><th scope="row">${name}</th><td>${value}</td></tr>\n`)}</tbody></table>
`;
}

export function stepList(steps: readonly Step[]): Html {
  return html`<ul class="steps">
${steps.map(
  ({ what, command, shell }) =>
    html`<li><span>${what}<span class="in"> ${shell ? "(in a shell)" : "(in Pi)"}</span></span><code>${inline(command, 600)}</code></li>\n`,
)}</ul>
`;
}

/** A bar from 0 to 1; its number stands beside it as text. */
export function bar(share: number): Html {
  const width = Math.round(Math.min(1, Math.max(0, share)) * 1_000) / 10;
  return html`<svg class="bar" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true"><rect class="${share >= 0.8 ? "f-over" : "f-bar"}" width="${width}" height="10"/></svg>`;
}

/** "12 more … are in the log", or nothing. */
export function left(n: number, what: string, taskId: string): Html | null {
  return n === 0
    ? null
    : html`<p class="soft small">${number(n)} earlier ${what} are not on this page: <code>/supervise log ${taskId}</code></p>`;
}
