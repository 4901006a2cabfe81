/** `shards.json`: created once, and compared by all who come later. */
import { expect, test } from "vitest"
import { fixShards } from "../../../src/fleet/index.ts"
import { MemoryStore } from "../memory-store.ts"

test("the first replica fixes the shards, others take them, and one that was told something else is refused", async () => {
  const store = new MemoryStore()
  await expect(fixShards(store, { shards: undefined, split: [] })).rejects.toThrow(/say with --shards/)
  expect(await fixShards(store, { shards: 4, split: ["v1.Pod", "v1.Event"] })).toBe(4)
  expect(await fixShards(store, { shards: 4, split: ["v1.Event", "v1.Pod"] })).toBe(4)
  expect(await fixShards(store, { shards: undefined, split: ["v1.Event", "v1.Pod"] })).toBe(4)
  await expect(fixShards(store, { shards: 8, split: ["v1.Event", "v1.Pod"] })).rejects.toThrow(
    "the history here has 4 shards, with v1.Event and v1.Pod split, and this replica is to record 8 shards, with v1.Event and v1.Pod split",
  )
  await expect(fixShards(store, { shards: 4, split: ["v1.Pod"] })).rejects.toThrow(/with v1.Pod split/)
})

test("of two that come at once, both go by the one that was created", async () => {
  const store = new MemoryStore()
  const [one, other] = await Promise.allSettled([
    fixShards(store, { shards: 2, split: [] }),
    fixShards(store, { shards: 3, split: [] }),
  ])
  expect([one.status, other.status].toSorted()).toEqual(["fulfilled", "rejected"])
})

test("a file of a later version is refused, not replaced", async () => {
  const store = new MemoryStore()
  await store.create("shards.json", [Buffer.from('{"version":2,"shards":4,"split":[]}')])
  await expect(fixShards(store, { shards: 4, split: [] })).rejects.toThrow(/it is not what this version reads/)
})
