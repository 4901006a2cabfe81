import { systemClock } from "../../../src/clock.ts"
import type { ApiClient } from "../../../src/kube/index.ts"
import type { ReplayOptions } from "../../../src/simulation/replay/replay.ts"

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
  placement: { nodeSelector: { type: "virtual" }, taintKey: "kwok-provider" },
  included: new Set(),
  signal: new AbortController().signal,
  cleanUpSignal: new AbortController().signal,
  onProgress: () => undefined,
  onRemovalFailed: (error) => {
    throw error
  },
})
