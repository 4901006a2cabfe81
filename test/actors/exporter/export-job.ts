/** Jobs of exports as tests give them to the exporter. */
import type { ExportJob } from "../../../src/actors/exporter/exporter-interface.ts"

/** Everything that is recorded of these kinds, owned objects included, as NDJSON. */
export const exportJob = (kinds: ReadonlyArray<string>, more: Partial<ExportJob> = {}): ExportJob => ({
  ...{ format: "ndjson", cut: Number.MAX_SAFE_INTEGER, fromTime: 0, untilTime: Number.MAX_SAFE_INTEGER },
  filters: { excluded_namespaces: [], excluded_labels: [] },
  ...{ skipOwned: [], excludeOwned: false, excludeDaemonSetOwned: false, recordedKinds: [] },
  trackedObjects: Object.fromEntries(kinds.map((gvk) => [gvk, {}])),
  incomplete: [],
  ...more,
})
