/** The time line of random histories: lanes, tiles and histogram are those that a walk through all changes gives. */
import fc from "fast-check"
import { expect, test } from "vitest"
import { QueriedRecording } from "../../../../src/archive/index.ts"
import { histogramOf } from "../../../../src/archive/queries/timeline/histogram.ts"
import { laneId } from "../../../../src/archive/queries/timeline/lane-directory.ts"
import { lanesOf } from "../../../../src/archive/queries/timeline/lanes.ts"
import { type DrawnTile, tileSteps } from "../../../../src/archive/queries/timeline/tiles.ts"
import { TimelineCache } from "../../../../src/archive/queries/timeline/timeline-cache.ts"
import { columnOf, type LaneTree, tileOf, tones } from "../../../../src/timeline/index.ts"
import { temporaryDirectory } from "../../../harness/temporary-directory.ts"
import { nameOf, START } from "../../sample-frames.ts"
import { anyHistory, type HistoryEvent, historyKinds, recordHistory } from "../sample-history.ts"

const finished = <Item, End>(steps: Generator<Item, End, void>): { items: Item[]; end: End } => {
  const items: Item[] = []
  for (;;) {
    const { done, value } = steps.next()
    if (done === true) return { items, end: value }
    items.push(value)
  }
}

const objectsOf = (tree: LaneTree, parent?: string): string[] =>
  tree
    .page(parent, { offset: 0, limit: 1000 })
    .lanes.flatMap(({ id, type }) => [...(type === "object" ? [id] : []), ...objectsOf(tree, id)])

const isApplied = (event: HistoryEvent | undefined): boolean => event?.action === "applied"

test("lanes, tiles and histogram are those of a walk through all changes", () => {
  const window = fc.record({
    from: fc.integer({ min: -5, max: 20_000 }),
    length: fc.nat(20_000),
    width: fc.integer({ min: 1, max: 40 }),
  })
  const shownNamespace = fc.option(fc.constantFrom("ns-1", "ns-2"), { nil: undefined })
  fc.assert(
    fc.property(
      anyHistory,
      fc.array(window, { minLength: 1, maxLength: 3 }),
      shownNamespace,
      (steps, windows, shown) => {
        const directory = temporaryDirectory()
        const events = recordHistory(directory, steps)
        const recording = QueriedRecording.open(directory)
        const cache = new TimelineCache()
        const shownNamespaces = shown === undefined ? undefined : () => new Set([shown])
        // Twice: what is kept of a question does not change the next.
        for (const { from: offset, length, width } of [...windows, ...windows]) {
          const [from, to] = [START + offset, START + offset + length]
          const asked = { kinds: historyKinds, from, to, width, shownNamespaces }
          const counts = new Array<number>(width).fill(0)
          const lanes: string[] = []
          const tiles = new Map<string, number[]>()
          for (const kind of recording.kinds)
            for (let number = 1; number <= 9; number++) {
              const all = events.filter((event) => event.gvk === kind.gvk && event.number === number)
              if (all.length === 0 || (shown !== undefined && nameOf(kind.gvk, number).namespace !== shown)) continue
              const before = all.findLast(({ time }) => time < from)
              const within = all.filter(({ time }) => time >= from && time <= to)
              const isNew = all[0] === within[0] && within.length > 0
              if (isNew || isApplied(before) || isApplied(within.at(-1) ?? before)) lanes.push(laneId(kind, number))
              for (const { time } of within) counts[columnOf(asked, time)] = (counts[columnOf(asked, time)] ?? 0) + 1
              const drawn = tileOf(
                asked,
                isApplied(before) ? tones.plain : tones.absent,
                within.map((event) => ({ time: event.time, tone: isApplied(event) ? tones.plain : tones.absent })),
                [
                  { type: "unrecorded", from: 0, to: START - 1 },
                  { type: "unrecorded", from: recording.knownUntil(kind.gvk) + 1, to: Number.MAX_SAFE_INTEGER },
                ],
              )
              tiles.set(laneId(kind, number), [...drawn])
            }
          expect(objectsOf(finished(lanesOf(recording, cache, asked)).end.tree).toSorted()).toEqual(lanes.toSorted())
          expect([...finished(histogramOf(recording, cache, asked)).end.counts]).toEqual(counts)
          const ids = recording.kinds.flatMap((kind) => Array.from({ length: 12 }, (_, number) => laneId(kind, number)))
          const { items } = finished(tileSteps(recording, cache, { ...asked, lanes: ids, withParts: true }))
          const found = items.filter((item): item is DrawnTile => item !== undefined)
          expect(Object.fromEntries(found.map((tile) => [tile.lane, [...tile.columns]]))).toEqual(
            Object.fromEntries(tiles),
          )
        }
        recording.close()
      },
    ),
    { numRuns: 25 },
  )
})
