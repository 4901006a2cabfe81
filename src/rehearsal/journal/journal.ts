/**
 * What happened in a rehearsal, step by step: a recorded change or a timer, and everything that the controllers did until they came to rest.
 * Plain data, in one order: two rehearsals of the same trace with the same controllers have equal journals.
 */

import { isRecord } from "../../is-record.ts"
import { isSame } from "../../sandbox/index.ts"
import type { FedAs } from "../feed/feeder.ts"

/** A field that has changed. Absent members mean an absent field. */
export interface Difference {
  /** JSON pointer: `/spec/replicas`. */
  readonly path: string
  readonly before?: unknown
  readonly after?: unknown
}

/** What the server keeps for itself, and what changes with every write. */
export const keptByServer: ReadonlySet<string> = new Set([
  "/metadata/resourceVersion",
  "/metadata/managedFields",
  "/metadata/generation",
])

/** In the order of the members. Lists are compared as a whole, unless both have the same length. */
export const differencesOf = (before: unknown, after: unknown, path = ""): ReadonlyArray<Difference> => {
  if (keptByServer.has(path) || isSame(before, after)) return []
  if (isRecord(before) && isRecord(after)) {
    const names = new Set([...Object.keys(before), ...Object.keys(after)])
    return [...names].flatMap((name) => differencesOf(before[name], after[name], `${path}/${escaped(name)}`))
  }
  if (Array.isArray(before) && Array.isArray(after) && before.length === after.length)
    return before.flatMap((item, index) => differencesOf(item, after[index], `${path}/${index}`))
  return [{ path, ...(before !== undefined && { before }), ...(after !== undefined && { after }) }]
}

/** A member's name in a JSON pointer. */
export const escaped = (name: string): string => name.replaceAll("~", "~0").replaceAll("/", "~1")

/** Names an object. `namespace` is empty for a cluster-scoped one. */
export interface JournalObject {
  /** `apps/v1.Deployment`. */
  readonly kind: string
  readonly namespace: string
  readonly name: string
}

/** A run of a controller. */
export interface ReconcileEntry {
  readonly type: "reconcile"
  readonly controller: string
  /** `namespace/name`. */
  readonly key: string
  readonly outcome: "succeeded" | "failed" | "conflict" | "given-up"
  /** ms of the rehearsal's time; 0 unless requests take time (`latencyMs`) or the run waited for a timer. */
  readonly durationMs: number
  /** What it threw, as text. */
  readonly error?: string
  /** ms until the run that it asked for. */
  readonly requeueAfterMs?: number
}

/** A write that a controller requested. */
export interface WriteEntry extends JournalObject {
  readonly type: "write"
  readonly controller: string
  readonly verb: "create" | "update" | "patch" | "delete"
  /** Empty for the object itself, else for example `status`. */
  readonly subresource: string
  /** HTTP status code. */
  readonly status: number
  /** Of a refusal. */
  readonly message?: string
  /** What it changed; none if it was refused or changed nothing. A deletion has none. */
  readonly differences: ReadonlyArray<Difference>
}

/** A Kubernetes Event that a controller recorded. */
export interface EventEntry {
  readonly type: "event"
  readonly controller: string
  readonly about: JournalObject
  readonly eventType: string
  readonly reason: string
  readonly message: string
}

/** A change that the sandbox itself made: the garbage collector deleted something. */
export interface SandboxEntry extends JournalObject {
  readonly type: "sandbox"
  readonly action: "changed" | "deleted"
  readonly differences: ReadonlyArray<Difference>
}

/** Something that would have been reported to an operator. */
export interface TroubleEntry {
  readonly type: "trouble"
  readonly controller: string
  readonly detail: string
  /** A module has trapped, and does nothing more. */
  readonly isEnd?: true
}

/** A line that a module wrote to its log. */
export interface LogEntry {
  readonly type: "log"
  readonly controller: string
  readonly line: string
}

/** The rehearsal has disturbed the controllers. */
export interface DisturbanceEntry {
  readonly type: "disturbance"
  /** `lost create v1.Pod shop/web #1`. */
  readonly text: string
}

export type JournalEntry =
  | ReconcileEntry
  | WriteEntry
  | EventEntry
  | SandboxEntry
  | TroubleEntry
  | LogEntry
  | DisturbanceEntry

/** Why a step began. */
export type StepCause =
  /** The state at the start is there, and the controllers start. */
  | { readonly type: "start"; readonly objects: number }
  | (JournalObject & {
      readonly type: "change"
      readonly action: "applied" | "deleted"
      readonly fedAs: FedAs
      /** What it changed in the sandbox. */
      readonly differences: ReadonlyArray<Difference>
    })
  /** A delay of a controller is over: a retry, `requeueAfterMs`, a lease. */
  | { readonly type: "timer" }
  /** Controllers that a disturbance has ended start again. */
  | { readonly type: "restart" }
  /** Disturbances are over: what they held back goes on. */
  | { readonly type: "calm" }

export interface JournalStep {
  /** RFC 3339 with µs: the moment of the recording. */
  readonly time: string
  readonly cause: StepCause
  readonly entries: ReadonlyArray<JournalEntry>
}

/** `2026-01-01T00:00:00.000000Z`. */
export const instantOf = (micros: number): string =>
  `${new Date(Math.floor(micros / 1000)).toISOString().slice(0, -1)}${String(micros % 1000).padStart(3, "0")}Z`

/** The journal as NDJSON, one step a line. */
export const journalText = (steps: Iterable<JournalStep>): string => {
  let text = ""
  for (const step of steps) text += `${JSON.stringify(step)}\n`
  return text
}
