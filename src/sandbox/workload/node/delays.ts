/**
 * The delays of virtual nodes, and the Pod annotations that override them.
 *
 * Annotations of `simkube.io/kwok-stage-…` count as kwok's stages would count them (src/trace/pods/pod-stages.ts), so pods of a replay live
 * here as they do on kwok's nodes; those below come first.
 *
 * | annotation | meaning | | --- | --- | | `sandbox.kubereel.dev/create-after: 2s` | from binding to the start of the
 * containers | | `sandbox.kubereel.dev/ready-after: 5s` | from the start of the containers to their being ready; `never`
 * for unready | | `sandbox.kubereel.dev/complete-after: 3s` | the containers end 3 s after their start, by default with
 * exit code 0 | | `sandbox.kubereel.dev/fail-after: 1s` | the same with exit code 1; with restarts, a crash loop | |
 * `sandbox.kubereel.dev/exit-code: "3"` | the exit code of either | | `sandbox.kubereel.dev/terminate-after: 10s` | from
 * the request to terminate to the end, at most the grace period |
 *
 * Durations are Go's (`1h2m3.5s`, `200ms`); an unreadable one counts as absent.
 */

import type { Pod } from "../../../kube/client/objects.ts"
import { parseDuration } from "../../../kube/duration.ts"
import * as stages from "../../../trace/pods/pod-stages.ts"

/** All in ms. */
export interface Delays {
  /** From binding to the start of the containers. Default 200. */
  readonly createMs: number
  /** From there to ready. Default 300. */
  readonly readyMs: number
  /** From the start to the end of containers that are to complete. Default 1,000, as kwok's Jobs. */
  readonly completeMs: number
  /** From the request to terminate to the end. Default 100. */
  readonly terminateMs: number
  /** Each delay is increased by a random share of itself up to this. Default 0. */
  readonly jitter: number
}

export const defaultDelays: Delays = { createMs: 200, readyMs: 300, completeMs: 1000, terminateMs: 100, jitter: 0 }

const prefix = "sandbox.kubereel.dev/"

/** The planned course of one Pod. */
export interface PodPlan {
  readonly createMs: number
  /** `undefined`: never. */
  readonly readyMs: number | undefined
  /** `undefined`: it keeps running. */
  readonly endMs: number | undefined
  /** ms since the epoch: its last end, after which no container is restarted, whatever the restart policy; before `endMs`. */
  readonly lastEndAtMs: number | undefined
  readonly exitCode: number
  /** By its last end. */
  readonly restarts: number
  readonly terminateMs: number
}

/** `random` in [0, 1), drawn once for each Pod. */
export const planOf = (pod: Pod, delays: Delays, random: number): PodPlan => {
  const { annotations = {}, labels = {} } = pod.metadata
  const annotation = (name: string): string | undefined => annotations[prefix + name]
  const given = (name: string): number | undefined => parseDuration(annotation(name) ?? "")
  const staged = (name: string): number | undefined => {
    const ms = parseDuration(annotations[name] ?? "")
    const limit = parseDuration(annotations[name + stages.jitterSuffix] ?? "")
    return ms === undefined || limit === undefined ? ms : limit <= ms ? limit : ms + (limit - ms) * random
  }
  const varied = (ms: number): number => ms * (1 + delays.jitter * random)
  const isMeantToEnd =
    (pod.spec.restartPolicy ?? "Always") !== "Always" ||
    pod.metadata.ownerReferences?.some(({ kind, controller }) => controller === true && kind === "Job") === true
  const failMs = given("fail-after")
  const code = annotation("exit-code") ?? annotations[stages.exitCodeAnnotation] ?? ""
  const restarts = annotations[stages.restartsAnnotation] ?? ""
  const isFollowed = annotations[stages.runTimeAnnotation] !== undefined
  const isComplete = labels[stages.completeLabel] !== undefined
  const graceMs = (pod.metadata.deletionGracePeriodSeconds ?? 30) * 1000
  return {
    createMs: given("create-after") ?? staged(stages.createDelayAnnotation) ?? varied(delays.createMs),
    readyMs:
      annotation("ready-after") === "never"
        ? undefined
        : (given("ready-after") ?? staged(stages.readyDelayAnnotation) ?? varied(delays.readyMs)),
    endMs: failMs ?? given("complete-after") ?? (isMeantToEnd && !isFollowed ? varied(delays.completeMs) : undefined),
    lastEndAtMs: isComplete ? Date.parse(annotations[stages.completeTimeAnnotation] ?? "") || 0 : undefined,
    restarts: /^\d{1,6}$/.test(restarts) ? Number(restarts) : 0,
    exitCode: /^\d{1,3}$/.test(code) ? Number(code) & 255 : failMs === undefined ? 0 : 1,
    terminateMs: Math.min(graceMs, given("terminate-after") ?? varied(delays.terminateMs)),
  }
}
