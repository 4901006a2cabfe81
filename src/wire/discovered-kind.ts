/** What discovery said of a kind, as a watcher sends it to the store, which keeps it with the recording. */
import * as Schema from "effect/Schema"

/** What an API server says of a kind. */
export const DiscoveredKind = Schema.Struct({
  /** `apps/v1.Deployment`. */
  gvk: Schema.String,
  /** `deployments`. */
  plural: Schema.String,
  /** `deployment`; empty if the server did not say. */
  singular: Schema.String,
  /** `deploy`. */
  shortNames: Schema.Array(Schema.String),
  /** `all`. */
  categories: Schema.Array(Schema.String),
  namespaced: Schema.Boolean,
})
export type DiscoveredKind = typeof DiscoveredKind.Type
