/** What a controller is told of deletions that nothing watched, for any past, any present, and any changes while the state arrives. */
import fc from "fast-check"
import { expect, test } from "vitest"
import { type KnownObject, StateComparison } from "../../../src/host/checkpoint/known-objects.ts"

/** Object `life` of a name: each life has its own UID. */
interface Life {
  readonly name: string
  readonly life: number
}
const uidOf = ({ name, life }: Life): string => `${name}-${life}`
const objectOf = (one: Life): KnownObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { namespace: "shop", name: one.name, uid: uidOf(one) },
})
const life = fc.record({ name: fc.constantFrom("a", "b", "c", "d"), life: fc.integer({ min: 1, max: 3 }) })
const lives = fc.uniqueArray(life, { selector: uidOf, maxLength: 12 })
/** One life of each name at most. */
const present = fc.uniqueArray(life, { selector: ({ name }) => name, maxLength: 4 })

test("each known object that is gone is told exactly once, before a new one of its name, and no other", () => {
  fc.assert(
    fc.property(lives, present, (known, state) => {
      const comparison = new StateComparison(known.map(objectOf))
      const told: string[] = []
      for (const one of state) {
        told.push(...comparison.seen(`shop/${one.name}`, uidOf(one)).map(({ metadata }) => metadata.uid))
        // Everything of its name that is known and another object has been told by now.
        for (const other of known)
          if (other.name === one.name && other.life !== one.life) expect(told).toContain(uidOf(other))
      }
      told.push(...comparison.completed().map(({ metadata }) => metadata.uid))
      expect(comparison.completed()).toEqual([])
      const uids = new Set(state.map(uidOf))
      expect(told.sort()).toEqual(
        known
          .map(uidOf)
          .filter((uid) => !uids.has(uid))
          .sort(),
      )
    }),
  )
})

test("deletions that the watch delivers while the state arrives are not told again", () => {
  const step = fc.oneof(
    fc.record({ type: fc.constant("seen" as const), one: life }),
    fc.record({ type: fc.constant("ended" as const), one: life }),
  )
  fc.assert(
    fc.property(lives, fc.array(step, { maxLength: 20 }), (known, steps) => {
      const comparison = new StateComparison(known.map(objectOf))
      const told: string[] = []
      const delivered = new Set<string>()
      const seen = new Set<string>()
      for (const { type, one } of steps) {
        const uid = uidOf(one)
        if (type === "ended") {
          comparison.ended(uid)
          expect(comparison.hasEnded(uid)).toBe(true)
          delivered.add(uid)
        } else {
          for (const { metadata } of comparison.seen(`shop/${one.name}`, uid)) {
            expect(delivered.has(metadata.uid) || seen.has(metadata.uid)).toBe(false)
            told.push(metadata.uid)
          }
          seen.add(uid)
        }
      }
      told.push(...comparison.completed().map(({ metadata }) => metadata.uid))
      expect(new Set(told).size).toBe(told.length)
      for (const uid of known.map(uidOf)) {
        const isAccountedFor = told.includes(uid) || delivered.has(uid) || seen.has(uid)
        expect(isAccountedFor).toBe(true)
        if (!seen.has(uid) && !delivered.has(uid)) expect(told).toContain(uid)
      }
    }),
  )
})
