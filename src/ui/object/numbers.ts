/** The numbers of an object over time, out of the differences of its changes. */

import type { ObjectChange, Span } from "../source/source.ts"

/** A numeric field that changed. */
export interface NumberSeries {
  readonly path: string
  /** µs. */
  readonly times: ReadonlyArray<number>
  /** The value holds from its time until the next; `null`: there is none. */
  readonly values: ReadonlyArray<number | null>
}

/** Fields that are numbers without a meaning over time. */
const meaningless = /^metadata\.(?:resourceVersion|managedFields)|observedGeneration$/

const numberIn = (value: unknown): number | undefined => {
  if (typeof value === "number") return Number.isFinite(value) ? value : undefined
  const quantity = typeof value === "string" ? /^(\d+(?:\.\d+)?)(m|[kMGTP]|[KMGTP]i)?$/.exec(value) : null
  if (quantity === null) return undefined
  return Number(quantity[1]) * (scales[quantity[2] ?? ""] ?? 1)
}

const scales: Readonly<Record<string, number>> = {
  ...{ m: 1e-3, k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15 },
  ...{ Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40, Pi: 2 ** 50 },
}

/** Replicas and restarts first, then what changed most. Each series begins with the window, or with what is known of the object, and ends with the window, or with the object. */
export const numbersOf = (changes: Iterable<ObjectChange>, { from, to }: Span): ReadonlyArray<NumberSeries> => {
  const series = new Map<string, { readonly times: number[]; readonly values: Array<number | null> }>()
  let [begin, end]: [number, number | undefined] = [from, undefined]
  for (const { time, differences, type } of changes) {
    end = type === "deleted" || type === "vanished" ? time : undefined
    // What it was before it appeared is not known.
    if (type === "created" || type === "appeared") begin = Math.max(begin, time)
    if (type !== "changed") continue
    for (const { path, before, after } of differences) {
      const [old, now] = [numberIn(before), numberIn(after)]
      if (meaningless.test(path) || (now === undefined && (old === undefined || after !== undefined))) continue
      const known = series.get(path) ?? { times: [Math.min(begin, time)], values: [old ?? null] }
      known.times.push(time)
      known.values.push(now ?? null)
      series.set(path, known)
    }
  }
  return [...series]
    .map(([path, { times, values }]) => ({
      path,
      ...{ times: [...times, Math.max(end ?? to, times.at(-1) ?? to)], values: [...values, values.at(-1) ?? null] },
    }))
    .sort((one, other) => rankOf(one.path) - rankOf(other.path) || other.times.length - one.times.length)
}

const rankOf = (path: string): number => {
  const rank = [/restartCount$/, /^spec\.replicas$/, /[rR]eplicas$/, /^status/].findIndex((each) => each.test(path))
  return rank < 0 ? 9 : rank
}
