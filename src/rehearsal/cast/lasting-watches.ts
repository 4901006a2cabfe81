/** The watch protocol within a process: nothing is lost there, so no watch has to be replaced, which would only take turns of the clock. */
import type { WatchPolicy } from "../../kube/watch/protocol/policy.ts"

/** s: 63 years, which no recording has, and as many as fit into 32 bits. */
const life = 2_000_000_000

export const lastingWatches: Partial<WatchPolicy> = { watchLifeSeconds: [life, life] }
