/**
 * Recorded history as an API server: kubectl, informers and dashboards see the cluster as it was, at any moment of it or while it runs.
 *
 * A {@link Past} is where states and changes come from, {@link ArchivePast} a recorder's directory, {@link TracePast} a trace. {@link HistoryServer} serves
 * it. Guaranteed: objects are the recorded bytes (with `kind`, `apiVersion` and a resourceVersion where they lack them); what a state may lack is named in
 * `Warning` headers of every response about its kind; nothing can be changed.
 */

export { historyKubeconfig, historyUser } from "./http/history-kubeconfig.ts"
export { HistoryServer, type HistoryServerSettings, MomentRefused } from "./http/history-server.ts"
export type { AskedMoment } from "./http/moment-handlers.ts"
export { ArchivePast } from "./past/archive-past.ts"
export { JoinedPast } from "./past/joined-past.ts"
export { NothingToServe } from "./past/nothing-to-serve.ts"
export { batchBytes, type Past, type PastChange, type PastKind, statusRemark } from "./past/past.ts"
export { TracePast } from "./past/trace-past.ts"
