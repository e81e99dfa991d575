/** Notices to people who are not looking. Outbound only. */
export { ESCALATION_REASONS, type EscalationReason, type Notice } from "../core/contracts/notice.ts";
export type { WebhookFormat } from "./payload.ts";
export { createWebhook, SIGNATURE_HEADER, signatureOf, type Webhook, type WebhookOptions } from "./webhook.ts";
