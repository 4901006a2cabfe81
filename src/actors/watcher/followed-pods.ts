/**
 * Decides whether pod lifecycles can resume, or pods must be listed first.
 *
 * They can resume if lifecycles are complete up to the very version from which the kind resumes: then one stream continues both. They
 * cannot if lifecycles were switched on for a recording that already had pods, if they were off for a while, or if lifecycles were recorded
 * before and pods were not.
 *
 * Lifecycles that cannot resume are **interrupted**, and so is the kind whose watch follows them: between the version
 * up to which they were recorded and the next list, both are incomplete. {@link followedPods} says what is interrupted,
 * {@link InterruptedLives} records it as gaps once all is listed.
 */
import { type GapReason, podLivesKind } from "../../trace/index.ts"
import type { KindResumePoint, LivesResumePoint, NamespaceProgress, StoredPods } from "../../wire/index.ts"
import type { ObjectRecorder } from "./object-recorder.ts"
import type { KnownPods } from "./pod-tracker.ts"

/** Pods whose lifecycles are followed from now on. */
export interface FollowedPods extends KnownPods {
  /**
   * What the list at the start of this life interrupts: lifecycles were not tracked for a while, so pods are listed although a resume
   * version is known. Empty if the session resumes, or if there is nothing to resume.
   */
  readonly interrupted: ReadonlyArray<InterruptedKind>
}

/** A kind that is incomplete between a version and the first list. */
interface InterruptedKind {
  readonly gvk: string
  /** The empty string if each namespace has its own. */
  readonly fromVersion: string
  /** µs since the Unix epoch. */
  readonly fromTime: number
}

/** The content of the gap of an interrupted kind. */
export const interruption = {
  reason: "stopped",
  detail: "pod lifecycles were not recorded for a while; to find all pods, the server's current state was listed",
} as const

export const followedPods = (gvk: string, kind: KindResumePoint, pods: StoredPods): FollowedPods => {
  const { lives } = pods
  if (livesContinue(gvk, kind, lives)) return { ...pods, interrupted: [] }
  return { ...pods, interrupted: [...interrupted(gvk, kind), ...interrupted(podLivesKind, lives)] }
}

/** Whether lifecycles were recorded up to the same point as the kind itself. */
export const livesContinue = (gvk: string, kind: KindResumePoint, lives: LivesResumePoint): boolean => {
  if (gvk === podLivesKind) return true
  return (
    lives.resumeVersion === kind.resumeVersion &&
    lives.epoch === kind.epoch &&
    isAsFar(lives.namespaces, kind.namespaces)
  )
}

/** Whether two kinds are recorded up to the same point in each namespace. */
const isAsFar = (one: ReadonlyArray<NamespaceProgress>, other: ReadonlyArray<NamespaceProgress>): boolean => {
  const expected = new Map(other.map((each) => [each.namespace, each]))
  return (
    one.length === other.length &&
    one.every(({ namespace, completeThrough, listReason }) => {
      const found = expected.get(namespace)
      return found?.completeThrough === completeThrough && found.listReason === listReason
    })
  )
}

const interrupted = (
  gvk: string,
  { resumeVersion, namespaces, completeTime }: Pick<KindResumePoint, "resumeVersion" | "namespaces" | "completeTime">,
): ReadonlyArray<InterruptedKind> =>
  resumeVersion === "" && namespaces.every(({ completeThrough }) => completeThrough === "")
    ? []
    : [{ gvk, fromVersion: resumeVersion, fromTime: completeTime }]

/**
 * Records gaps when pods are listed although the recording could resume: what happened in between is missing, and gaps say so once all
 * namespaces are listed.
 */
export class InterruptedLives {
  readonly #recorder: ObjectRecorder
  readonly #leaveOwnGaps: boolean
  #interrupted: ReadonlyArray<InterruptedKind>
  #streams: number
  readonly #listed = new Set<object>()

  /**
   * `streams`: the number of streams whose lists together contain all pods. `leaveOwnGaps`: each of them records a gap of the kind itself,
   * for any reason.
   */
  constructor(
    recorder: ObjectRecorder,
    interrupted: ReadonlyArray<InterruptedKind>,
    { streams, leaveOwnGaps }: { readonly streams: number; readonly leaveOwnGaps: boolean },
  ) {
    this.#recorder = recorder
    this.#interrupted = interrupted
    this.#streams = streams
    this.#leaveOwnGaps = leaveOwnGaps
  }

  /** Whether all gaps have been recorded. */
  get isSettled(): boolean {
    return this.#interrupted.length === 0
  }

  /** There is exactly one stream. */
  oneStream(): void {
    this.#streams = 1
  }

  /** Call when one of the streams has completed a list. */
  listed(stream: object, reason: "first" | GapReason, toVersion: string): void {
    if (this.#interrupted.length === 0 || this.#listed.add(stream).size < this.#streams) return
    const { frames, statistics, gvk: own } = this.#recorder
    for (const { gvk, fromVersion, fromTime } of this.#interrupted) {
      // A list made for another reason has recorded a gap of the kind itself.
      if (fromVersion === toVersion || ((reason !== "first" || this.#leaveOwnGaps) && gvk === own)) continue
      statistics.gaps++
      const toTime = Math.max(frames.now(), fromTime)
      frames.gap({ gvk, namespace: "", fromVersion, toVersion, fromTime, toTime, ...interruption })
    }
    this.#interrupted = []
  }
}
