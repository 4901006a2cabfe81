/** Whether a trace may have lives of pods, by what it says about itself at its beginning. */
import { readTrackedObjects, type TrackedObjects } from "../../trace/formats/simkube/simkube-config.ts"
import { isJsonObject, MalformedJsonError, parseExactJson } from "../../trace/json/exact-json.ts"
import { podKind } from "../../trace/pods/pod-lives-kind.ts"

/** What a trace says about itself before its first event. */
export interface TraceFacts {
  /** GVKs that the trace says it has; empty if it does not say. */
  readonly kinds: ReadonlyArray<string>
  /** The trace says that it has lifecycles of pods, whatever its kinds. */
  readonly hasLifecycles: boolean
  /** SimKube's configurations in the trace, as JSON. */
  readonly configurations: ReadonlyArray<Uint8Array>
}

/** A trace without pods needs no webhook, which would cost each pod's creation a request. */
export const mayHaveLives = ({ kinds, hasLifecycles, configurations }: TraceFacts): boolean => {
  if (hasLifecycles) return true
  if (kinds.length > 0) return kinds.includes(podKind)
  const tracked = configurations.flatMap((bytes) => [...trackedIn(bytes)])
  return tracked.length === 0 || tracked.some(([gvk, { trackLifecycle }]) => trackLifecycle || gvk === podKind)
}

/** Empty if it cannot be read, as for the rest of the replay. */
const trackedIn = (bytes: Uint8Array): TrackedObjects => {
  try {
    const value = parseExactJson(bytes)
    return readTrackedObjects(isJsonObject(value) ? value.trackedObjects : undefined) ?? new Map()
  } catch (error) {
    if (error instanceof MalformedJsonError) return new Map()
    throw error
  }
}
