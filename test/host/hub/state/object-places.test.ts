/** Walks through objects that come, change and go meanwhile, compared with walks over a plain list. */
import fc from "fast-check"
import { expect, test } from "vitest"
import { ObjectPlaces, type ObjectWalk } from "../../../../src/host/hub/state/object-places.ts"
import { ObjectState } from "../../../../src/host/hub/state/object-state.ts"

const state = (uid: string, version: number): ObjectState =>
  new ObjectState({ uid, namespace: "n", name: uid }, version, Buffer.from(uid))

/** Few UIDs, so that objects come back; many puts in a row, so that places close up. */
const uid = fc.nat({ max: 150 }).map((number) => `u${number}`)
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant("put" as const), uid }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constant("remove" as const), uid }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("fill" as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("empty" as const), keep: fc.nat({ max: 5 }) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("walk" as const) }) },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant("go" as const), who: fc.nat(), steps: fc.integer({ min: 1, max: 40 }) }),
  },
)

type Step = typeof step extends fc.Arbitrary<infer Each> ? Each : never

/** Two walks that rest while most places become empty. */
const closing: Step[] = [
  { do: "fill" },
  { do: "walk" },
  { do: "walk" },
  { do: "go", who: 1, steps: 20 },
  { do: "empty", keep: 30 },
  { do: "go", who: 0, steps: 1 },
  { do: "go", who: 1, steps: 40 },
]

/** What a walk has before it, by a list of its own. */
interface Model {
  readonly walk: ObjectWalk
  /** UIDs that it is still to pass, in order; one that is removed leaves, and does not return. */
  ahead: string[]
}

test("a walk passes what existed at its beginning and still exists, once, in its present state, whatever happens meanwhile", () => {
  let closings = 0
  fc.assert(
    fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
      const objects = new ObjectPlaces()
      const present = new Map<string, ObjectState>()
      const ordinals = new Map<string, number>()
      const walks: Model[] = []
      let version = 0
      const put = (name: string): void => {
        const object = state(name, ++version)
        present.set(name, object)
        ordinals.set(name, objects.put(object))
      }
      const remove = (name: string): void => {
        expect(objects.remove(name) === 0).toBe(!present.has(name))
        present.delete(name)
        for (const each of walks) each.ahead = each.ahead.filter((other) => other !== name)
      }
      for (const each of steps) {
        if (each.do === "put") put(each.uid)
        else if (each.do === "remove") remove(each.uid)
        else if (each.do === "fill") for (let number = 0; number <= 150; number++) put(`u${number}`)
        else if (each.do === "empty") {
          if (present.size > 100) closings++
          for (const name of [...present.keys()].slice(each.keep)) remove(name)
        } else if (each.do === "walk") walks.push({ walk: objects.walk(), ahead: [...present.keys()] })
        else {
          const model = walks[each.who % Math.max(walks.length, 1)]
          for (let count = 0; model !== undefined && count < each.steps; count++) {
            const next = model.ahead.shift()
            expect(model.walk.next()).toBe(next === undefined ? undefined : present.get(next))
          }
        }
        for (const { walk, ahead } of walks) {
          expect(walk.ahead).toBeGreaterThanOrEqual(ahead.length)
          for (const name of present.keys()) expect(walk.isBefore(ordinals.get(name) ?? 0)).toBe(ahead.includes(name))
        }
        expect(objects.size).toBe(present.size)
        expect([...objects]).toEqual([...present.values()])
      }
    }),
    { numRuns: 60, examples: [[closing]] },
  )
  expect(closings).toBeGreaterThan(0)
})
