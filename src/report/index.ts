/** Events to text and pages for people. Pure. */
export { Collector } from "./collect.ts";
export { eventLine } from "./event-line.ts";
export { EVIDENCE_KIND, type Evidence, evidenceOf } from "./evidence.ts";
export type { ReportView } from "./history.ts";
export { IndexRows, renderIndex } from "./html/index-page.ts";
export { GENERATOR, renderPage } from "./html/page.ts";
export type { Report } from "./model.ts";
export { renderText } from "./text.ts";
export { renderTotals, type Totals, TotalsOf } from "./totals.ts";
