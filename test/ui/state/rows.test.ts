/** Rows are found by number; the model writes the whole tree down and counts. */

import fc from "fast-check"
import { expect, test } from "vitest"
import type { Lane, Part } from "../../../src/timeline/index.ts"
import { canOpen, numberOfLane, partKey, rowAt, rowCount, rowsFrom } from "../../../src/ui/state/rows.ts"
import type { LaneList } from "../../../src/ui/state/state.ts"

interface Node {
  readonly below: ReadonlyArray<Node>
  readonly parts: number
  readonly isOpen: boolean
}

const { node } = fc.letrec<{ node: Node }>((tie) => ({
  node: fc.record({
    below: fc.oneof({ maxDepth: 3 }, fc.constant([]), fc.array(tie("node"), { maxLength: 4 })),
    parts: fc.nat({ max: 3 }),
    isOpen: fc.boolean(),
  }),
}))

interface Written {
  readonly key: string
  readonly level: number
  readonly above: ReadonlyArray<string>
  readonly isPart: boolean
}

const planted = (forest: ReadonlyArray<Node>) => {
  const lists = new Map<string, LaneList>()
  const open = new Set<string>()
  const parts = new Map<string, ReadonlyArray<Part>>()
  const written: Written[] = []
  const plant = (id: string, nodes: ReadonlyArray<Node>, above: ReadonlyArray<string>, isShown: boolean): void => {
    const lanes = new Map<number, Lane>()
    for (const [place, { below, parts: count, isOpen }] of nodes.entries()) {
      const lane: Lane = {
        ...{ id: `${id}/${place}`, type: "object", children: below.length, objects: below.length },
        object: { gvk: "v1.Pod", namespace: "shop", name: `web-${place}`, uid: "" },
      }
      lanes.set(place, lane)
      const isVisible = isShown && isOpen
      const level = above.length + 1
      if (isShown) written.push({ key: lane.id, level, above, isPart: false })
      if (isOpen) open.add(lane.id)
      if (isOpen && count > 0) {
        const own = Array.from({ length: count }, (_, index) => ({ id: `container/${index}`, label: `${index}` }))
        parts.set(lane.id, own)
        if (isVisible)
          for (const each of own)
            written.push({ key: partKey(lane.id, each.id), level: level + 1, above: [...above, lane.id], isPart: true })
      }
      plant(lane.id, below, [...above, lane.id], isVisible)
    }
    const places = new Map([...lanes].map(([place, lane]) => [lane.id, place]))
    lists.set(id, { span: { from: 0, to: 1 }, spans: new Map(), total: nodes.length, lanes, places })
  }
  plant("", forest, [], true)
  return { tree: { lists, open, parts }, written }
}

test("every row has the number that it has when the whole tree is written down", () => {
  fc.assert(
    fc.property(fc.array(node, { maxLength: 6 }), (forest) => {
      const { tree, written } = planted(forest)
      expect(rowCount(tree)).toBe(written.length)
      const rows = rowsFrom(tree, 0, written.length + 5)
      expect(rows.map(({ key, level }) => ({ key, level }))).toEqual(written.map(({ key, level }) => ({ key, level })))
      expect(rowAt(tree, written.length)).toBeUndefined()
      expect(rowAt(tree, -1)).toBeUndefined()
      for (const [number, { key, above, isPart }] of written.entries())
        if (!isPart) expect(numberOfLane(tree, above, key)).toBe(number)
    }),
  )
})

test("a lane below one that is closed has no number", () => {
  const { tree } = planted([{ isOpen: false, parts: 0, below: [{ isOpen: false, parts: 0, below: [] }] }])
  expect(numberOfLane(tree, ["/0"], "/0/0")).toBeUndefined()
})

test("rows that were not read yet are counted, and can be neither named nor opened", () => {
  const lists = new Map([
    ["", { span: { from: 0, to: 1 }, spans: new Map(), total: 100_000, lanes: new Map(), places: new Map() }],
  ])
  const tree = { lists, open: new Set<string>(), parts: new Map() }
  expect(rowCount(tree)).toBe(100_000)
  const row = rowAt(tree, 99_999)
  expect(row).toMatchObject({ place: 99_999, siblings: 100_000, level: 1 })
  expect(row?.lane).toBeUndefined()
  expect(row && canOpen(row)).toBe(false)
})
