/** How long the pods of a Simulation take to start: `spec.lifecycleParams` as annotations that virtual nodes understand. */
import { createDelayAnnotation, jitterSuffix, readyDelayAnnotation } from "../../trace/pods/pod-stages.ts"
import type { RecordedLife } from "./recorded-lives.ts"

/** In real ms; `undefined`: as in the trace, and 0 if that does not say. */
export interface StartDelays {
  /** From being scheduled to the start of the containers. */
  readonly createMs: number | undefined
  /** At most so much longer. */
  readonly createJitterMs: number | undefined
  /** From there to ready. */
  readonly readyMs: number | undefined
  readonly readyJitterMs: number | undefined
}

/** Annotations of a pod; none for a delay that `life` knows and the Simulation does not set. Pure. */
export const startDelayMarks = (
  { createMs, createJitterMs, readyMs, readyJitterMs }: StartDelays,
  life: Pick<RecordedLife, "startMs" | "readyMs"> | undefined,
): Readonly<Record<string, string>> => ({
  ...delayMarks(createDelayAnnotation, createMs, createJitterMs, life?.startMs),
  ...delayMarks(readyDelayAnnotation, readyMs, readyJitterMs, life?.readyMs),
})

const delayMarks = (
  name: string,
  ms: number | undefined,
  jitterMs: number | undefined,
  recordedMs: number | undefined,
): Readonly<Record<string, string>> => {
  if (ms === undefined && jitterMs === undefined && recordedMs !== undefined) return {}
  const least = ms ?? 0
  // kwok's jitter is the upper limit of the delay, not what is added to it.
  return { [name]: `${least}ms`, [`${name}${jitterSuffix}`]: `${least + (jitterMs ?? 0)}ms` }
}
