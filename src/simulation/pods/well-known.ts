/** Labels and annotations that say which recorded pod a pod of the replay follows; SimKube's, except for the replay's own label. */
import { exitCodeAnnotation, restartsAnnotation, runTimeAnnotation } from "../../trace/pods/pod-stages.ts"

/** Decimal, unsigned 64 bits. */
export const stableHashAnnotation = "static.simkube.io/pod-spec-stable-hash"
/** Decimal: counts the pods of an owner with one hash, from 0. */
export const sequenceAnnotation = "static.simkube.io/pod-sequence-number"
/** The bare pod in the place of which this one was created. */
export const originalOwnerAnnotation = "static.simkube.io/original-owner"

const ofOneLife = new Set([
  runTimeAnnotation,
  exitCodeAnnotation,
  restartsAnnotation,
  stableHashAnnotation,
  sequenceAnnotation,
])

/** Whether it belongs to the life of one pod, and not to the one that is created in its place. */
export const isOfOneLife = (key: string): boolean => key.startsWith("simkube.io/kwok-stage-") || ofOneLife.has(key)
