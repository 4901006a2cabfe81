/** What conditions mean: the one table of those by which Kubernetes says that something is wrong. */

import type { FindingCode } from "./finding.ts"
import { listIn, type Members, membersIn, textIn } from "./json.ts"
import { type Tone, tones } from "./tile.ts"

/** With which statuses a condition says that something is wrong, and what that is. */
interface WrongCondition {
  readonly statuses: ReadonlyArray<string>
  readonly code: FindingCode
}

const pressure: WrongCondition = { statuses: ["True"], code: "node-under-pressure" }

/** By group, kind and condition: those of Kubernetes' own controllers. The first that is wrong is the one that is reported. */
const wrongConditions: Readonly<Record<string, Readonly<Record<string, WrongCondition>>>> = {
  Node: {
    Ready: { statuses: ["False", "Unknown"], code: "node-not-ready" },
    MemoryPressure: pressure,
    DiskPressure: pressure,
    PIDPressure: pressure,
    NetworkUnavailable: { statuses: ["True"], code: "node-not-ready" },
  },
  "apps/Deployment": {
    Progressing: { statuses: ["False"], code: "stalled-roll-out" },
    ReplicaFailure: { statuses: ["True"], code: "replicas-missing" },
  },
  "batch/Job": { Failed: { statuses: ["True"], code: "failed-job" } },
}

/** The same for kinds whose owners report it too: they are judged by it, but a life does not tell of it again. */
const wrongOfOwned: typeof wrongConditions = {
  "apps/ReplicaSet": { ReplicaFailure: { statuses: ["True"], code: "replicas-missing" } },
}

/** `apps/Deployment`, `Node`: a kind without its version. */
export const groupAndKind = (gvk: string): string => {
  const [slash, dot] = [gvk.lastIndexOf("/"), gvk.lastIndexOf(".")]
  return slash < 0 ? gvk.slice(dot + 1) : `${gvk.slice(0, slash)}/${gvk.slice(dot + 1)}`
}

/** By type, the statuses with which the conditions of a kind (`apps/Deployment`) say that something is wrong; `undefined`: none of them does. */
export const wrongStatusesOf = (kind: string): Readonly<Record<string, ReadonlyArray<string>>> | undefined =>
  Object.hasOwn(wrongConditions, kind)
    ? Object.fromEntries(Object.entries(wrongConditions[kind] ?? {}).map(([type, { statuses }]) => [type, statuses]))
    : undefined

/** The conditions of which `True` is the wish of every kind. */
const wished = new Set([
  ...["Ready", "Available", "Initialized", "PodScheduled", "ContainersReady", "PodReadyToStartContainers"],
  ...["Progressing", "Established", "NamesAccepted"],
])
const ending = new Set(["Complete", "SuccessCriteriaMet"])

export const conditionsOf = (object: unknown): ReadonlyArray<Members> =>
  listIn(membersIn(object, "status"), "conditions")

export const statusOfCondition = (conditions: ReadonlyArray<Members>, type: string): string | undefined =>
  textIn(
    conditions.find((each) => textIn(each, "type") === type),
    "status",
  )

const tables: ReadonlyMap<string, ReadonlyMap<string, WrongCondition>> = new Map(
  Object.entries({ ...wrongConditions, ...wrongOfOwned }).map(([kind, table]) => [
    kind,
    new Map(Object.entries(table)),
  ]),
)

/** The first condition of a kind by which it is wrong. */
export const wrongIn = (
  kind: string,
  conditions: ReadonlyArray<Members>,
): { readonly code: FindingCode; readonly message: string } | undefined => {
  for (const [type, { statuses, code }] of tables.get(kind) ?? []) {
    const condition = conditions.find((each) => textIn(each, "type") === type)
    if (!statuses.includes(textIn(condition, "status") ?? "")) continue
    return { code, message: textIn(condition, "message") ?? textIn(condition, "reason") ?? "" }
  }
  return undefined
}

/** How one condition is drawn. A type that is not known says nothing of how the object is. */
export const conditionTone = (kind: string, type: string, status: string): Tone => {
  const wrong = tables.get(kind)?.get(type)
  if (wrong?.statuses.includes(status)) return tones.bad
  if (wrong !== undefined && !wished.has(type)) return tones.good
  if (ending.has(type)) return status === "True" ? tones.over : tones.plain
  if (!wished.has(type)) return tones.plain
  return status === "True" ? tones.good : tones.waiting
}

/**
 * µs from the transition of a condition to the change that brings it within which they are one: transitions are in whole seconds, rounded down, and the
 * change knows better.
 */
const sameMicros = 2_000_000

/**
 * When a condition became what it is, µs: at its `lastTransitionTime`, not when a state with it was `seen`, which may be much later: by the first list, or
 * in a recording that does not have every status. `seen` if it says nothing, or a later time.
 */
export const conditionMicros = (lastTransitionTime: string | undefined, seen: number): number => {
  const since = Date.parse(lastTransitionTime ?? "") * 1000
  return since + sameMicros <= seen ? since : seen
}
