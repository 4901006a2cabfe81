/**
 * What disturbs a rehearsal: a list of disturbances. Each names the write or the recorded change that it is about, and refers to no other
 * disturbance: so one can be left out, and the others still do the same. A seed has one schedule for each trace.
 */
import { seededRandomness } from "../clock/virtual-clock.ts"

/** `write` is `create v1.Pod shop/web #1`: the first request of this sort. `changes`: a number of recorded changes. */
export type Disturbance =
  /**
   * `restart`: the process ends when the server has carried the write out, and starts again when that many changes have been fed. `lost`: the write is
   * carried out, and its answer does not arrive. `conflict`: it is refused with 409. `race`: it waits until the next change has been fed.
   */
  | { readonly type: "restart" | "lost" | "conflict" | "race"; readonly write: string; readonly changes: number }
  /** From that change on, watches of the kind are silent until so many more have been fed. */
  | { readonly type: "stale"; readonly kind: string; readonly change: number; readonly changes: number }
  /** Timers that are due before that change fire after it. */
  | { readonly type: "late"; readonly change: number }

export interface Schedule {
  readonly disturbances: ReadonlyArray<Disturbance>
  /** The numbers of the recorded changes that are fed, from 1. Default: all. */
  readonly changes?: ReadonlyArray<number> | undefined
}

/** What there is to disturb in a rehearsal. */
export interface Disturbable {
  readonly writes: ReadonlyArray<string>
  /** Kinds that are watched. */
  readonly watched: ReadonlySet<string>
  /** How many recorded changes were fed. */
  readonly changes: number
}

/** One to six disturbances, and up to one more for every 40 changes; none if there is nothing to disturb. */
export const scheduleOf = (seed: number, { writes, watched, changes }: Disturbable): Schedule => {
  const { next } = seededRandomness(seed)
  const below = (limit: number): number => Math.floor(next() * limit)
  const one = <Item>(items: ReadonlyArray<Item>): Item | undefined => items[below(items.length)]
  const drawn = Array.from({ length: 1 + below(6 + Math.floor(changes / 40)) }, (): Disturbance | undefined => {
    const type = one(["restart", "lost", "conflict", "race", "race", "stale", "stale", "late"] as const) ?? "late"
    const [change, length] = [1 + below(changes), below(4)]
    if (type === "late") return changes === 0 ? undefined : { type, change }
    if (type === "stale") {
      const kind = one([...watched])
      return kind === undefined || changes === 0 ? undefined : { type, kind, change, changes: 1 + length }
    }
    const write = one(type === "conflict" ? writes.filter((each) => /^(?:update|patch) /.test(each)) : writes)
    return write === undefined ? undefined : { type, write, changes: type === "restart" ? length : 0 }
  })
  return { disturbances: drawn.filter((each) => each !== undefined) }
}

/** `restart create v1.Pod shop/web #1 for 2`. */
export const textOfDisturbance = (given: Disturbance): string => {
  if (given.type === "late") return `late ${given.change}`
  if (given.type === "stale") return `stale ${given.kind} at ${given.change} for ${given.changes}`
  return `${given.type} ${given.write}${given.type === "restart" ? ` for ${given.changes}` : ""}`
}

/** `17: race update v1.ConfigMap shop/a #1; changes 1,4`. {@link parseSchedule} reads it. */
export const textOfSchedule = (seed: number, { disturbances, changes }: Schedule): string =>
  `${seed}: ${[...disturbances.map(textOfDisturbance), ...(changes === undefined ? [] : [`changes ${changes.join(",")}`])].join("; ")}`

/** A seed alone has no schedule of its own. `undefined`: the text is neither. */
export const parseSchedule = (text: string): { readonly seed: number; readonly schedule?: Schedule } | undefined => {
  const [, number, rest] = /^(\d{1,9})(?::\s*(.+))?$/.exec(text) ?? []
  if (number === undefined) return undefined
  const seed = Number(number)
  if (rest === undefined) return { seed }
  const disturbances: Disturbance[] = []
  let changes: ReadonlyArray<number> | undefined
  for (const part of rest.split(/;\s*/)) {
    const [, list] = /^changes (\d+(?:,\d+)*)$/.exec(part) ?? []
    const read = disturbanceOf(part)
    if (list !== undefined) changes = list.split(",").map(Number)
    else if (read !== undefined) disturbances.push(read)
    else return undefined
  }
  return { seed, schedule: { disturbances, changes } }
}

const disturbanceOf = (text: string): Disturbance | undefined => {
  const [, late] = /^late (\d+)$/.exec(text) ?? []
  if (late !== undefined) return { type: "late", change: Number(late) }
  const [, kind, at, length] = /^stale (\S+) at (\d+) for (\d+)$/.exec(text) ?? []
  if (kind !== undefined) return { type: "stale", kind, change: Number(at), changes: Number(length) }
  const [, type, write, changes = 0] =
    /^(restart|lost|conflict|race) ((?:create|update|patch|delete) \S+ \S+ #\d+)(?: for (\d+))?$/.exec(text) ?? []
  if (write === undefined) return undefined
  return { type: type as "restart", write, changes: Number(changes) }
}
