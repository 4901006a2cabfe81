/** The part of a stored state about pods, `proto/stored-state.proto` fields 16 to 24, 27 and 29. */
import type { NamespaceProgress } from "./namespace-progress.ts"

/** A pod that has run and exists. Start and end are whole seconds since the Unix epoch. */
export interface StoredPod {
  readonly number: number
  readonly uid: string
  readonly namespace: string
  readonly start: number
  /** `undefined` while it runs. */
  readonly end: number | undefined
  /** Whether it was ever seen with an owner. */
  readonly owned: boolean
}

/** The end of the recording of pod lifecycles, by any watcher. */
export interface LivesResumePoint {
  /** The empty string if they were never complete, or are followed namespace by namespace. */
  readonly resumeVersion: string
  /** Empty unless they are followed namespace by namespace. */
  readonly namespaces: ReadonlyArray<NamespaceProgress>
  readonly epoch: number
  /** µs since the Unix epoch; 0 for never. */
  readonly completeTime: number
}

/** The state from which a watcher continues following pods. */
export interface StoredPods {
  readonly lives: LivesResumePoint
  readonly nextPodNumber: number
  readonly pods: ReadonlyArray<StoredPod>
}
