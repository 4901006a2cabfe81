/** Time that runs: lists show the moment that is now, and watches deliver the changes when they are due. */
import { setImmediate as nextTurn } from "node:timers/promises"
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { type ApiObject, brief, getJson, type Watch } from "../sandbox/client.ts"
import { type Served, serve, streamingList, watching } from "./served.ts"
import { at, type Morning, pastOf, type Step } from "./trace-items.ts"

const settings = (minutes: number, name: string, version: number, more: Partial<Step> = {}): Step => ({
  ...{ minutes, gvk: "v1.ConfigMap", name, version },
  ...more,
})

/** ms of a minute of the morning at speed 10. */
const minute = 6000

const steps: ReadonlyArray<Step> = [
  settings(-1, "a", 101, { metadata: { labels: { app: "one" } } }),
  settings(10, "b", 110),
  settings(10, "c", 111, { metadata: { labels: { app: "one" } } }),
  settings(20, "a", 120, { metadata: {} }),
  settings(30, "b", 130, { action: "vanished" }),
  settings(40, "a", 140, { action: "deleted" }),
]

const playing = async (given: Morning = { steps }, moment = "start"): Promise<Served> =>
  serve(await pastOf(given), { root: { moment, speed: 10 } })

const path = "/api/v1/configmaps"
const objects = ({ items }: ApiObject): ReadonlyArray<string> =>
  items.map(({ metadata }) => `${metadata.name}@${metadata.resourceVersion}`)
const versionOf = async (url: string): Promise<string> => (await getJson(`${url}${path}`)).metadata.resourceVersion
const next = async (stream: Watch, count: number): Promise<ReadonlyArray<string>> =>
  (await stream.take(count)).map(brief)

/** Lets what is due be read and sent. */
const settled = async (): Promise<void> => {
  for (let turn = 0; turn < 20; turn++) await nextTurn()
}

describe("a list", () => {
  test("shows the moment that is now, and the end once it is over", async () => {
    const { url, clock, server } = await playing()
    const seen: Array<ReadonlyArray<string>> = []
    for (const minutes of [0, 10, 10, 10, 10, 30]) {
      clock.advance(minutes * minute)
      seen.push(objects(await getJson(`${url}${path}`)))
    }
    expect(seen).toEqual([
      ["a@101"],
      ["a@101", "b@110", "c@111"],
      ["a@120", "b@110", "c@111"],
      ["a@120", "c@111"],
      ["c@111"],
      ["c@111"],
    ])
    expect(server.isOver).toBe(true)
    expect(objects(await getJson(`${url}/at/${at(15)}${path}`))).toEqual(["a@101", "b@110", "c@111"])
  })

  test("in pages goes on with its own state, until it is too long ago", async () => {
    const { url, clock } = await playing({ steps }, String(at(15)))
    const first = await getJson(`${url}${path}?limit=2`)
    clock.advance(10 * minute)
    const after = `limit=2&continue=${first.metadata.continue}`
    expect([objects(first), objects(await getJson(`${url}${path}?${after}`))]).toEqual([["a@101", "b@110"], ["c@111"]])
  })
})

describe("a watch", () => {
  test("delivers each change when it is due, in order", async () => {
    const { url, clock } = await playing()
    const stream = await watching(`${url}${path}?watch=1&resourceVersion=0`)
    expect(await next(stream, 1)).toEqual(["ADDED a@101"])
    clock.advance(10 * minute - 1)
    await settled()
    expect(stream.lines).toHaveLength(1)
    clock.advance(1)
    expect(await next(stream, 2)).toEqual(["ADDED b@110", "ADDED c@111"])
    clock.advance(30 * minute)
    expect(await next(stream, 3)).toEqual(["MODIFIED a@120", "DELETED b@130", "DELETED a@140"])
  })

  test("gets bookmarks with the version that it has reached", async () => {
    const { url, clock } = await playing()
    const stream = await watching(`${url}${path}?${streamingList}`)
    expect(await next(stream, 2)).toEqual(["ADDED a@101", "BOOKMARK @101"])
    clock.advance(59_999)
    clock.advance(1)
    await settled()
    clock.advance(60_000)
    expect(await next(stream, 5)).toEqual([
      ...["BOOKMARK @101", "ADDED b@110", "ADDED c@111", "BOOKMARK @111", "MODIFIED a@120"],
    ])
  })

  test("goes on from the version of a list, and from each version that it delivered", async () => {
    const { url, clock } = await playing()
    const listed = await versionOf(url)
    clock.advance(40 * minute)
    const all = ["ADDED b@110", "ADDED c@111", "MODIFIED a@120", "DELETED b@130", "DELETED a@140"]
    for (const [index, version] of [listed, "110", "111", "120", "130"].entries()) {
      const stream = await watching(`${url}${path}?watch=1&resourceVersion=${version}`)
      expect(await next(stream, all.length - index)).toEqual(all.slice(index))
    }
  })

  test("that resumes at a version from before this kind was read gets the changes since out of the past", async () => {
    const { url, clock } = await playing({ steps }, String(at(35)))
    const stream = await watching(`${url}${path}?watch=1&resourceVersion=111`)
    expect(await next(stream, 2)).toEqual(["MODIFIED a@120", "DELETED b@130"])
    clock.advance(5 * minute)
    expect(await next(stream, 1)).toEqual(["DELETED a@140"])
    expect(await (await watching(`${url}${path}?watch=1&resourceVersion=100`)).next()).toMatchObject({
      type: "ERROR",
      object: { code: 410, reason: "Expired" },
    })
  })

  test("with a selector sees objects come and go as their labels change", async () => {
    const { url, clock } = await playing()
    const stream = await watching(`${url}${path}?watch=1&resourceVersion=0&labelSelector=app%3Done`)
    clock.advance(40 * minute)
    expect(await next(stream, 3)).toEqual(["ADDED a@101", "ADDED c@111", "DELETED a@120"])
  })

  test("is told to list again when the cluster was restored, after which versions begin anew", async () => {
    const restored: Morning = {
      steps: [...steps.slice(0, 3), settings(20, "c", 50), settings(20, "d", 51), settings(25, "d", 52)],
      gaps: [{ gvk: "v1.ConfigMap", fromTime: at(18), toTime: at(20), reason: "cluster-restored" }],
    }
    const { url, clock } = await playing(restored)
    const stream = await watching(`${url}${path}?watch=1&resourceVersion=101`)
    clock.advance(20 * minute)
    const [, , last] = await stream.take(3)
    expect(last).toMatchObject({ type: "ERROR", object: { code: 410, reason: "Expired" } })
    expect(await stream.ended).toBe("clean")
    const version = await versionOf(url)
    expect(version).toBe("51")
    const again = await watching(`${url}${path}?watch=1&resourceVersion=${version}`)
    clock.advance(5 * minute)
    expect(await next(again, 1)).toEqual(["MODIFIED d@52"])
  })

  test("that is closed leaves no timer behind but that of its kind", async () => {
    const { url, clock } = await playing()
    const before = await watching(`${url}${path}?${streamingList}`)
    await before.take(2)
    const { pending } = clock
    const stream = await watching(`${url}${path}?${streamingList}`)
    await stream.take(2)
    expect(clock.pending).toBe(pending + 1)
    stream.close()
    while (clock.pending > pending) await nextTurn()
  })
})

test("whatever happened: a list and the watch that follows make the state at the end", async () => {
  const change = fc.record({
    name: fc.constantFrom("a", "b", "c"),
    action: fc.constantFrom("applied" as const, "applied" as const, "deleted" as const, "vanished" as const),
    pause: fc.integer({ min: 0, max: 3 }),
  })
  const history = fc.array(change, { maxLength: 30 })
  await fc.assert(
    fc.asyncProperty(history, fc.integer({ min: 0, max: 30 }), async (changes, start) => {
      let minutes = 0
      const made = changes.map(({ name, action, pause }, index): Step => {
        minutes += pause / 2
        return settings(minutes, name, 200 + index, { action })
      })
      const { url, clock, server, past } = await serve(await pastOf({ steps: [settings(-1, "z", 1), ...made] }), {
        root: { moment: String(at(start)), speed: 10 },
      })
      const { items, metadata } = await getJson(`${url}${path}`)
      const seen = new Map(items.map((item) => [item.metadata.name, item.metadata.resourceVersion]))
      const stream = await watching(`${url}${path}?watch=1&resourceVersion=${metadata.resourceVersion}`)
      clock.advance(60 * minute)
      const end = await getJson(`${url}${path}`)
      await settled()
      for (const line of stream.lines) {
        const { type, object } = JSON.parse(line) as { type: string; object: ApiObject }
        if (type === "DELETED") seen.delete(object.metadata.name)
        else seen.set(object.metadata.name, object.metadata.resourceVersion)
      }
      expect([...seen].map(([name, version]) => `${name}@${version}`).sort()).toEqual(objects(end))
      expect(objects(await getJson(`${url}/at/end${path}`))).toEqual(objects(end))
      stream.close()
      await server.close()
      past.close()
    }),
    { numRuns: 30 },
  )
})
