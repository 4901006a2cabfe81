/**
 * Decides whether the lives of pods can go on where they were, or pods must be listed first.
 *
 * They can if lifecycles are complete up to the very version from which the kind resumes: then one stream carries both on. They are
 * not when lifecycles were switched on over a recording that had pods already, when they were off for a while, and when pods
 * were not recorded before and lifecycles were.
 */
import { podLivesKind } from "../../trace/pod-lives-kind.ts"
import type { KindResumePoint, StoredPods } from "../stored-state.ts"
import type { KnownPods } from "./pod-tracker.ts"

/** Pods whose lives are to be followed from here on. */
export interface FollowedPods extends KnownPods {
  /**
   * What ends before the list that begins this life: lifecycles were not tracked for a while, so pods are listed although a version
   * is known from which to resume. Empty if the session resumes, or if there is nothing to go on from.
   */
  readonly interrupted: ReadonlyArray<InterruptedKind>
}

/** A kind that is not complete between a version and the first list. */
export interface InterruptedKind {
  readonly gvk: string
  readonly fromVersion: string
  /** µs since the Unix epoch. */
  readonly fromTime: number
}

/** What the gap of an interrupted kind says. */
export const interruption = {
  reason: "stopped",
  detail:
    "pod lifecycles were not recorded for a while and are again; to know all pods, the server's present state was listed",
} as const

export const followedPods = (gvk: string, kind: KindResumePoint, pods: StoredPods): FollowedPods => {
  const { lives } = pods
  const isContinuous =
    gvk === podLivesKind || (lives.resumeVersion === kind.resumeVersion && lives.epoch === kind.epoch)
  return { ...pods, interrupted: isContinuous ? [] : [...interrupted(gvk, kind), ...interrupted(podLivesKind, lives)] }
}

const interrupted = (
  gvk: string,
  { resumeVersion, completeTime }: Pick<KindResumePoint, "resumeVersion" | "completeTime">,
): ReadonlyArray<InterruptedKind> =>
  resumeVersion === "" ? [] : [{ gvk, fromVersion: resumeVersion, fromTime: completeTime }]
