/**
 * Several recordings as one past: those of recorders that replaced one another, or of parts of a cluster.
 *
 * At each moment a kind is that of one recording: of those that know it then, the one that began with it last; if none
 * does, the one that knew it until last, and that is said as a gap. Where one recording follows another, what differs
 * between their states happens at that moment, so watches continue with the right objects.
 */
import type { GapEvent } from "../../trace/index.ts"
import type { Past, PastChange, PastKind, Shortcomings } from "./past.ts"

/** A kind in one of the recordings: known from `since` to the end of its past. */
interface Part {
  readonly past: Past
  readonly since: number
}

export class JoinedPast implements Past {
  readonly #pasts: ReadonlyArray<Past>

  /** At least one. */
  constructor(pasts: ReadonlyArray<Past>) {
    this.#pasts = pasts
  }

  get name(): string {
    return this.#pasts.map(({ name }) => name).join(", ")
  }

  get begin(): number {
    return Math.min(...this.#pasts.map(({ begin }) => begin))
  }

  get end(): number {
    return Math.max(...this.#pasts.map(({ end }) => end))
  }

  get kinds(): ReadonlyArray<PastKind> {
    const kinds = new Map<string, PastKind>()
    for (const { kinds: own } of this.#pasts)
      for (const kind of own) {
        const known = kinds.get(kind.gvk)
        kinds.set(kind.gvk, known === undefined ? kind : together(known, kind))
      }
    return [...kinds.values()]
  }

  async refresh(): Promise<void> {
    for (const past of this.#pasts) await past.refresh()
  }

  async *stateAt(gvk: string, time: number): AsyncGenerator<ReadonlyArray<PastChange>, void> {
    const part = this.#partAt(gvk, time)
    if (part !== undefined) yield* part.past.stateAt(gvk, Math.min(time, part.past.end))
  }

  async *changes(gvk: string, after: number, through: number): AsyncGenerator<ReadonlyArray<PastChange>, void> {
    let part = this.#partAt(gvk, after)
    let from = after
    for (const moment of [...this.#turnsOf(gvk, after, through), through + 1]) {
      // Up to just before the moment at which another recording may follow.
      if (part !== undefined && moment - 1 > from)
        yield* part.past.changes(gvk, from, Math.min(moment - 1, part.past.end))
      from = moment - 1
      const next = moment > through ? part : this.#partAt(gvk, moment)
      if (next === undefined || next.past === part?.past) continue
      yield await turn(gvk, moment, part, next)
      part = next
      from = moment
    }
  }

  async shortcomings(gvk: string, time: number): Promise<Shortcomings> {
    const part = this.#partAt(gvk, time)
    if (part === undefined) return { gaps: [], late: [] }
    const { end } = part.past
    const found = await part.past.shortcomings(gvk, Math.min(time, end))
    if (time <= end) return found
    const next = Math.min(
      ...this.#partsOf(gvk)
        .map(({ since }) => since)
        .filter((since) => since > time),
    )
    return { ...found, gaps: [...found.gaps, unknownBetween(gvk, end, Number.isFinite(next) ? next : time)] }
  }

  close(): void {
    for (const past of this.#pasts) past.close()
  }

  #partsOf(gvk: string): ReadonlyArray<Part> {
    return this.#pasts.flatMap((past) =>
      past.kinds.filter((kind) => kind.gvk === gvk).map(({ since }) => ({ past, since })),
    )
  }

  #partAt(gvk: string, time: number): Part | undefined {
    const begun = this.#partsOf(gvk).filter(({ since }) => since <= time)
    const present = begun.filter(({ past }) => past.end >= time)
    const last = (parts: ReadonlyArray<Part>, of: (part: Part) => number): Part | undefined =>
      parts.reduce<Part | undefined>(
        (best, part) => (best === undefined || of(part) > of(best) ? part : best),
        undefined,
      )
    return present.length > 0 ? last(present, ({ since }) => since) : last(begun, ({ past }) => past.end)
  }

  /** When another recording may be the one that counts, in a stretch of time: whenever one begins, or has just ended. */
  #turnsOf(gvk: string, after: number, through: number): ReadonlyArray<number> {
    const moments = this.#partsOf(gvk).flatMap(({ past, since }) => [since, past.end + 1])
    return [...new Set(moments)]
      .filter((moment) => moment > after && moment <= through)
      .sort((one, other) => one - other)
  }
}

const together = (one: PastKind, other: PastKind): PastKind => ({
  gvk: one.gvk,
  since: Math.min(one.since, other.since),
  restarts: [...one.restarts, ...other.restarts].sort((first, second) => first.from - second.from),
  remarks: [...new Set([...one.remarks, ...other.remarks])],
  statusRemark: one.statusRemark ?? other.statusRemark,
  names: other.names ?? one.names,
})

const unknownBetween = (gvk: string, fromTime: number, toTime: number): GapEvent => ({
  ...{ type: "gap", sequence: 0, time: toTime, gvk, namespace: "", fromVersion: "", toVersion: "" },
  ...{ fromTime, toTime, reason: "stopped", detail: "no recording has this time" },
})

const keyOf = ({ namespace, name }: PastChange): string => `${namespace}/${name}`

/** What is different when one recording follows another: memory for the names and versions of one state, and the objects that differ. */
const turn = async (
  gvk: string,
  moment: number,
  before: Part | undefined,
  after: Part,
): Promise<ReadonlyArray<PastChange>> => {
  const former = new Map<string, PastChange>()
  if (before !== undefined)
    for await (const batch of before.past.stateAt(gvk, Math.min(moment - 1, before.past.end)))
      for (const change of batch) former.set(keyOf(change), { ...change, object: Buffer.alloc(0) })
  const changes: PastChange[] = []
  let highest = 0n
  for await (const batch of after.past.stateAt(gvk, moment))
    for (const change of batch) {
      const known = former.get(keyOf(change))
      former.delete(keyOf(change))
      if (change.version > highest) highest = change.version
      if (known?.uid !== change.uid || known.version !== change.version) changes.push({ ...change, time: moment })
    }
  for (const gone of former.values())
    changes.push({
      ...gone,
      action: "vanished",
      time: moment,
      version: highest > gone.version ? highest : gone.version,
    })
  return changes.sort((one, other) => (one.version < other.version ? -1 : one.version > other.version ? 1 : 0))
}
