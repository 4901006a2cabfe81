/** How far a trace is read ahead. */
import { expect, test } from "vitest"
import { ChangesToWrites } from "../../../src/simulation/replay/changes-to-writes.ts"
import type { TracePart } from "../../../src/simulation/replay/trace-changes.ts"
import { UpcomingChanges } from "../../../src/simulation/replay/upcoming-changes.ts"

const change = (name: string, bytes: number): TracePart => {
  const metadata = { name, namespace: "shop" }
  const empty = JSON.stringify({ metadata, data: { filler: "" } })
  const object = Buffer.from(JSON.stringify({ metadata, data: { filler: "x".repeat(bytes - empty.length) } }))
  return { type: "change", change: { time: 1, gvk: "v1.ConfigMap", namespace: "shop", name, object } }
}

/** Reads ahead, of changes that come one by one, as far as that goes; returns how many. */
const readOf = async (bytes: number): Promise<{ readonly upcoming: UpcomingChanges; readonly read: () => number }> => {
  let read = 0
  async function* parts(): AsyncGenerator<ReadonlyArray<TracePart>, void> {
    yield [{ type: "beginning", header: undefined, time: 0, objects: [] }]
    for (; ; read++) yield [change(`config-${read}`, bytes)]
  }
  const upcoming = new UpcomingChanges(parts())
  await upcoming.open()
  const root = { apiVersion: "v1", kind: "Namespace", name: "root", uid: "uid" }
  const placement = { nodeSelector: {}, taintKey: undefined }
  upcoming.start(new ChangesToWrites({ replay: "test", namespacePrefix: "v", root, placement }, new Set()))
  return { upcoming, read: () => read }
}

const readAll = async (upcoming: UpcomingChanges): Promise<void> => {
  for (let reading = upcoming.readAhead(); reading !== undefined; reading = upcoming.readAhead()) await reading
}

test("a few hundred changes are read ahead, but only 8 MB of large ones, and more as they are taken", async () => {
  const usual = await readOf(3000)
  await readAll(usual.upcoming)
  expect(usual.read()).toBe(511)
  const large = await readOf(1_000_000)
  await readAll(large.upcoming)
  expect(large.read()).toBe(7)
  large.upcoming.take()
  large.upcoming.take()
  await readAll(large.upcoming)
  expect(large.read()).toBe(9)
})
