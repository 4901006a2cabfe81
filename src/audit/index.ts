/**
 * Traces out of audit logs, of clusters that had no recorder.
 *
 * Guarantee: what a log does not say is missing from the trace and counted, never guessed; memory is bounded by the objects alive.
 */

export { AuditBatchReader } from "./authors/event-batch.ts"
export { importAuthors } from "./authors/import-authors.ts"
export { importAudit } from "./import-audit.ts"
export type { ImportProgress, ImportSummary } from "./import-order.ts"
export { describeLosses } from "./lives/losses.ts"
