/** Events to text and pages for people. Pure. */
export { eventLine } from "./event-line.ts";
export type { History, ReportView } from "./history.ts";
export { renderHtml } from "./html.ts";
export { renderText } from "./text.ts";
export { renderTotals, type Totals, totalsOf } from "./totals.ts";
