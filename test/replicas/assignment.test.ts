/** Which replica owns which shard: a property of the set of members alone. */
import fc from "fast-check"
import { expect, test } from "vitest"
import { assignShards, recordersSharing } from "../../src/replicas/assignment.ts"

const anyMembers = fc.uniqueArray(fc.stringMatching(/^[a-z][a-z0-9-]{0,8}$/), { minLength: 1, maxLength: 9 })
const anyShards = fc.integer({ min: 1, max: 40 })

const loadsOf = (owners: ReadonlyArray<string>, members: ReadonlyArray<string>): ReadonlyArray<number> =>
  members.map((member) => owners.filter((owner) => owner === member).length)

test("each shard has one owner, loads differ by one at most, and the order of the members does not matter", () => {
  fc.assert(
    fc.property(anyShards, anyMembers, (shards, members) => {
      const owners = assignShards(shards, members)
      expect(owners).toHaveLength(shards)
      expect(owners.every((owner) => members.includes(owner))).toBe(true)
      const loads = loadsOf(owners, members)
      expect(Math.max(...loads) - Math.min(...loads)).toBeLessThanOrEqual(1)
      expect(assignShards(shards, members.toReversed())).toEqual(owners)
    }),
  )
})

test("few shards move when a member leaves: its own, and on average less than half as many again", () => {
  let own = 0
  let others = 0
  for (let round = 0; round < 300; round++) {
    const members = Array.from({ length: 3 + (round % 6) }, (_, index) => `kubereel-${round}-${index}`)
    const shards = 4 + (round % 29)
    const before = assignShards(shards, members)
    const after = assignShards(shards, members.slice(1))
    for (const [shard, owner] of before.entries()) {
      if (owner === members[0]) own++
      else if (owner !== after[shard]) others++
    }
  }
  expect(own).toBeGreaterThan(500)
  expect(others / own).toBeLessThan(0.5)
})

test("one replica has all shards, and more replicas than shards leave some without", () => {
  expect(assignShards(3, ["a"])).toEqual(["a", "a", "a"])
  expect(new Set(assignShards(2, ["a", "b", "c"])).size).toBe(2)
  expect(assignShards(2, [])).toEqual([])
})

test("the memory of a replica is divided so that it still suffices when another replica is gone", () => {
  fc.assert(
    fc.property(anyShards, anyMembers, (shards, members) => {
      const sharing = recordersSharing(shards, members.length)
      const left = members.length === 1 ? members : members.slice(1)
      expect(Math.max(...loadsOf(assignShards(shards, left), left))).toBe(sharing)
    }),
  )
})
