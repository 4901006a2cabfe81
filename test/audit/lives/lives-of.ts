/** The lives that a sequence of audit events has, with the states in memory. */

import type { LifeEvent, LivesOutput } from "../../../src/audit/lives/life-record.ts"
import type { Gap } from "../../../src/audit/lives/losses.ts"
import { ObjectLives } from "../../../src/audit/lives/object-lives.ts"
import type { AuditedWrite } from "../../../src/audit/shapes/audited-write.ts"
import { entriesIn } from "../../../src/audit/shapes/log-entries.ts"
import type { GroupVersionKind } from "../../../src/kube/offline.ts"
import type { JsonObject } from "../../../src/trace/index.ts"

export interface Change extends LifeEvent {
  /** Absent: its end was not seen. */
  readonly object?: JsonObject
}

export interface Lived {
  readonly changes: ReadonlyArray<Change>
  readonly gaps: ReadonlyArray<Omit<Gap, "resource"> & { readonly gvk: string }>
  readonly lives: ObjectLives
  /** What exists at the end, by `gvk namespace/name`. */
  readonly state: ReadonlyMap<string, JsonObject>
}

export const livesOf = (
  events: ReadonlyArray<JsonObject>,
  { isExcluded = () => false, end = 0 }: { isExcluded?: (gvk: GroupVersionKind) => boolean; end?: number } = {},
): Lived => {
  const changes: Change[] = []
  const gaps: Array<Lived["gaps"][number]> = []
  const state = new Map<string, JsonObject>()
  const kept: JsonObject[] = []
  const keyOf = ({ gvk, namespace, name }: LifeEvent): string => `${gvk} ${namespace}/${name}`
  const output: LivesOutput = {
    changed: (event, object) => {
      changes.push({ ...event, object })
      if (event.action === "applied") state.set(keyOf(event), object)
      else state.delete(keyOf(event))
      return { start: kept.push(object) - 1, length: 0 }
    },
    ended: (event, last) => {
      changes.push(last === undefined ? event : { ...event, object: kept[last.start] as JsonObject })
      state.delete(keyOf(event))
    },
    gap: ({ resource: _, ...gap }, gvk) => void gaps.push({ ...gap, gvk }),
    stateOf: ({ start }) => kept[start] as JsonObject,
  }
  const lives = new ObjectLives(output, isExcluded)
  for (const write of events.flatMap(writesIn)) lives.add(write)
  lives.end(end)
  return { changes, gaps, lives, state }
}

const writesIn = (event: JsonObject): ReadonlyArray<AuditedWrite> =>
  entriesIn(event).flatMap((entry) => {
    if (entry.tag === "unknown") throw new Error(entry.found)
    return entry.tag === "write" ? [entry.write] : []
  })
