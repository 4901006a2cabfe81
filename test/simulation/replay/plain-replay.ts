import { systemClock } from "../../../src/clock.ts"
import type { ApiClient } from "../../../src/kube/index.ts"
import type { LocalCluster } from "../../../src/sandbox/index.ts"
import { Fidelity } from "../../../src/simulation/fidelity/fidelity.ts"
import { ChangesToWrites } from "../../../src/simulation/replay/changes-to-writes.ts"
import type { ReplayOptions } from "../../../src/simulation/replay/replay.ts"

const placement = { nodeSelector: { type: "virtual" }, taintKey: "kwok-provider" }

/** Judges the replay `test` into a cluster in this process. */
export const judgeIn = (cluster: LocalCluster, settleMs: number, directory?: string): Fidelity =>
  new Fidelity({
    endpoints: { endpoint: async () => cluster.sandbox.endpoint, onUnauthorized: async () => undefined },
    userAgent: "kubereel-test",
    clock: systemClock,
    settleMs,
    directory,
    namespacePrefix: "virtual",
    placement,
    replay: "test",
  })

/** A whole trace at full speed, removed at the end; a removal that fails, fails the test. */
export const plainReplay = (
  client: ApiClient,
  name: string,
  items: ReplayOptions["items"],
  now: number,
): ReplayOptions => ({
  name,
  items,
  isPipe: false,
  startsPaused: false,
  intoRecordedCluster: false,
  window: { from: undefined, to: undefined, duration: undefined, now },
  client,
  clock: systemClock,
  speed: "max",
  concurrency: 8,
  maximumLagMs: 60_000,
  onLag: "slow",
  onConflict: "force",
  isStrict: false,
  keep: false,
  namespacePrefix: "virtual",
  placement,
  included: new Set(),
  signal: new AbortController().signal,
  cleanUpSignal: new AbortController().signal,
  onProgress: () => undefined,
  onRemovalFailed: (error) => {
    throw error
  },
})

/** Plans the writes of the replay `test`. Kinds are without version. */
export const plainPlanner = (
  included: ReadonlyArray<string> = [],
  seeded: ReadonlyArray<string> = [],
): ChangesToWrites => {
  const root = { apiVersion: "v1", kind: "Namespace", name: "root", uid: "root-uid" }
  const rewriting = { replay: "test", namespacePrefix: "virtual", root, placement }
  return new ChangesToWrites(rewriting, new Set(included), new Set(seeded))
}
