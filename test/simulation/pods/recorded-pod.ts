/** Events of pods as a recording has them. */
import type { ObjectEvent } from "../../../src/trace/index.ts"

/** µs since the Unix epoch: a whole second. */
export const start = 1_763_700_000_000_000

/** RFC 3339, `seconds` after {@link start}. */
export const at = (seconds: number): string => `${new Date(start / 1000 + seconds * 1000).toISOString().slice(0, 19)}Z`

let sequence = 0

/** A state of an object, recorded `seconds` after {@link start}. */
export const event = (
  seconds: number,
  gvk: string,
  name: string,
  object: object,
  action: ObjectEvent["action"] = "applied",
): ObjectEvent => ({
  type: "object",
  sequence: ++sequence,
  time: start + Math.round(seconds * 1_000_000),
  gvk,
  action,
  uid: `uid-of-${name}`,
  namespace: "shop",
  name,
  resourceVersion: "",
  object: Buffer.from(JSON.stringify(object)),
})

export interface PodState {
  readonly controller?: { readonly apiVersion: string; readonly kind: string; readonly name: string }
  readonly labels?: Readonly<Record<string, string>>
  readonly created?: number
  readonly scheduled?: number
  readonly started?: number
  readonly ready?: number
  readonly ended?: number
  readonly exitCode?: number
  readonly restarts?: number
  readonly phase?: string
  readonly deleting?: boolean
  readonly image?: string
}

/** A Pod in a state; times in s after {@link start}, whole ones in the object. */
export const pod = (state: PodState): object => {
  const condition = (type: string, since: number | undefined) =>
    since === undefined ? [] : [{ type, status: "True", lastTransitionTime: at(Math.floor(since)) }]
  const startedAt = at(Math.floor(state.started ?? 0))
  const ended = { startedAt, finishedAt: at(Math.floor(state.ended ?? 0)), exitCode: state.exitCode ?? 0 }
  const inner = state.ended === undefined ? { running: { startedAt } } : { terminated: ended }
  const phase = state.ended !== undefined ? "Succeeded" : state.started !== undefined ? "Running" : "Pending"
  return {
    metadata: {
      creationTimestamp: at(state.created ?? 0),
      ...(state.labels && { labels: state.labels }),
      ...(state.deleting && { deletionTimestamp: at(0) }),
      ...(state.controller && { ownerReferences: [{ ...state.controller, uid: "o", controller: true }] }),
    },
    spec: { containers: [{ name: "main", image: state.image ?? "main:1" }] },
    status: {
      phase: state.phase ?? phase,
      conditions: [...condition("PodScheduled", state.scheduled), ...condition("Ready", state.ready)],
      ...(state.started !== undefined && {
        containerStatuses: [{ name: "main", state: inner, restartCount: state.restarts ?? 0 }],
      }),
    },
  }
}
