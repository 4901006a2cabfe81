/** Rules 1 and 2 of docs/facts/watch-protocol.md: what is requested, and how lists are made. */

import { gzipSync } from "node:zlib"
import { describe, expect, test } from "vitest"
import { eventually } from "../../harness/eventually.ts"
import { CompressingProxy, type Compression, gzip } from "./compressing-proxy.ts"
import { DictatedWatch } from "./dictated-watch.ts"
import { holding, type Watched, watchedSandboxes } from "./watched-sandbox.ts"

// Lists that the server compresses, or that something between here and the server compresses wrongly.

const names = Array.from({ length: 120 }, (_, index) => `object-${index}`)
const inPages = { inPages: true, gzip: true }

const listThrough = async (compress: Compression, lists = inPages) => {
  const proxy = new CompressingProxy(compress)
  const watched = await start({
    before: holding(...names),
    policy: { pageSize: 50 },
    lists,
    through: (sandbox) => proxy.before(sandbox.endpoint),
  })
  return { proxy, watched }
}

describe("compressed lists", () => {
  test("bring the same objects as others, page by page", async () => {
    const { proxy, watched } = await listThrough(gzip)
    await watched.isWatching()
    expect(watched.notebook.alive).toEqual([...names].sort())
    expect(proxy.lists).toEqual(["gzip", "gzip", "gzip"])
    expect(watched.notebook.of("list started")).toEqual(["first"])
    expect(watched.queries("watch").filter((query) => query.has("sendInitialEvents"))).toEqual([])
    const change = watched.put("object-1")
    await watched.caughtUp()
    expect(watched.notebook.events).toEqual([`applied ${change}`])
  })

  test("are not asked for unless the recorder is told to, nor for watches and streaming lists", async () => {
    const { proxy, watched } = await listThrough(gzip, { inPages: true, gzip: false })
    await watched.isWatching()
    expect(proxy.lists).toEqual(["identity", "identity", "identity"])
    const streamed = await listThrough(gzip, { inPages: false, gzip: true })
    await streamed.watched.isWatching()
    expect(streamed.proxy.lists).toEqual([])
    expect(streamed.watched.notebook.alive).toEqual([...names].sort())
  })

  test("that are cut off are a lost connection: asked for again, compressed, from the first page", async () => {
    const { proxy, watched } = await listThrough((body, list) => {
      const whole = gzipSync(body)
      return ["gzip", list === 2 ? whole.subarray(0, whole.length - 20) : whole]
    })
    await watched.passes()
    expect(watched.notebook.of("state").at(-1)).toBe(
      "failing: list: the paging ended early: the server closed the connection",
    )
    await watched.isWatching()
    expect(proxy.lists).toEqual(["gzip", "gzip", "gzip", "gzip", "gzip"])
    expect(watched.notebook.alive).toEqual([...names].sort())
  })

  test.each<[string, Compression, string]>([
    [
      "are not compressed at all",
      (body) => ["gzip", body],
      "its compressed data cannot be read: incorrect header check",
    ],
    ["are compressed in another way", (body) => ["br", body], 'content coding "br" was not requested'],
  ])("that %s are asked for again without compression", async (_, compress, problem) => {
    const { proxy, watched } = await listThrough(compress)
    await watched.passes()
    expect(watched.notebook.of("state").at(-1)).toBe(`failing: list: the paging ended early: ${problem}`)
    await watched.isWatching()
    expect(proxy.lists).toEqual(["gzip", "identity", "identity", "identity"])
    expect(watched.notebook.alive).toEqual([...names].sort())
  })

  test("that expand without end are given up as malformed", async () => {
    const start = Buffer.from('{"kind":"ConfigMapList","items":[')
    const bomb = gzipSync(Buffer.concat([start, Buffer.alloc(24 * 1024 * 1024, " ")]), { level: 1 })
    const { watched } = await listThrough((body, list) => ["gzip", list === 1 ? bomb : gzipSync(body)])
    await eventually(() => expect(watched.isWaiting).toBe(true))
    expect(watched.notebook.of("alarm")).toEqual(["more than 16777216 bytes without the end of a line or a list item"])
    await watched.passes()
    await watched.isWatching()
  })
})

const { start, watching } = watchedSandboxes()

const numbered = (count: number): ReadonlyArray<string> =>
  Array.from({ length: count }, (_, index) => `object-${index}`)
const initial = { sendInitialEvents: "true", resourceVersionMatch: "NotOlderThan", allowWatchBookmarks: "true" }

describe("rule 1", () => {
  test("rule 1: from discovery to the watch directly, and then only the watch", async () => {
    const watched = await watching({ before: holding("a", "b") })
    expect(watched.notebook.story.filter((line) => !line.startsWith("cluster"))).toEqual([
      "state listing: first list",
      "list started first",
      "applied a@1003",
      "applied b@1004",
      "list completed 1004",
      "state watching: from version 1004",
    ])
    const change = watched.put("a")
    await watched.caughtUp()
    expect(watched.notebook.events).toEqual([`applied ${change}`])
    expect(watched.queries("watch")).toHaveLength(1)
    expect(watched.queries("list")).toEqual([])
  })

  test("rule 1: repeated failures use client-go's back-off", async () => {
    const watched = await start({ before: (sandbox) => sandbox.faults.respond("configmaps", 500, { times: 8 }) })
    const waits: number[] = []
    for (let failure = 1; failure <= 8; failure++) {
      await watched.sees(() => watched.sandbox.faults.count("answered", "configmaps") === failure)
      waits.push(await watched.passes())
    }
    expect(waits).toEqual([800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000])
    await watched.isWatching()
  })

  test("rule 1: 2 minutes of quiet reset the back-off, less does not", async () => {
    const watched = await watching({ before: holding("a") })
    const waits: number[] = []
    for (const quiet of [0, 0, 119, 121]) {
      watched.clock.advance(quiet * 1000)
      watched.sandbox.faults.respond("configmaps", 500, { verb: "watch", times: 1 })
      watched.put("a")
      watched.sandbox.faults.endWatches()
      waits.push(await watched.passes())
      await watched.isWatching()
      await watched.caughtUp()
    }
    // The clock has also passed the waits themselves since the failure.
    expect(waits).toEqual([800, 1600, 800, 800])
  })

  test("rule 1: jitter at most doubles the wait", async () => {
    const watched = await start({
      random: () => 0.999,
      before: (sandbox) => sandbox.faults.respond("discovery", 503, { times: 1 }),
    })
    expect(await watched.passes()).toBeCloseTo(1599.2)
    await watched.isWatching()
  })
})

describe("rule 2", () => {
  test("rule 2: requests the streaming list from any server, and continues with the same stream", async () => {
    const watched = await watching({ before: holding("a"), labelSelector: "x!=y", fieldSelector: "metadata.name!=b" })
    const [query, ...others] = watched.queries("watch")
    expect(others).toEqual([])
    expect(Object.fromEntries(query ?? [])).toEqual({
      watch: "1",
      ...initial,
      timeoutSeconds: "300",
      labelSelector: "x!=y",
      fieldSelector: "metadata.name!=b",
    })
    watched.put("b")
    const change = watched.put("c")
    await watched.caughtUp()
    expect(watched.notebook.events).toEqual([`applied ${change}`])
  })

  test("rule 2: a 422 naming sendInitialEvents leads to pages, which is remembered", async () => {
    const watched = await watching({ before: holding(...numbered(1001)), sandbox: { streamingList: "rejected" } })
    expect(watched.notebook.objects).toHaveLength(1001)
    const [first, second, third, ...others] = watched.queries("list")
    expect(Object.fromEntries(first ?? [])).toEqual({ limit: "500" })
    expect([...(second?.keys() ?? [])]).toEqual(["limit", "continue"])
    expect([...(third?.keys() ?? [])]).toEqual(["limit", "continue"])
    expect(others).toEqual([])
    watched.sandbox.faults.expireWatches()
    await watched.sees(() => watched.notebook.of("list completed").length === 2)
    await watched.isWatching()
    expect(watched.queries("watch").filter((query) => query.has("sendInitialEvents"))).toHaveLength(1)
    expect(watched.queries("list")).toHaveLength(6)
  })

  const ignoring = (why: string): string =>
    `the server seems to ignore sendInitialEvents (${why}): it is listed in pages`

  test("rule 2: a server that ignores sendInitialEvents and goes quiet is paged within 5 s, from then on, and that is said once", async () => {
    const watched = await start({
      before: holding("a", "b"),
      sandbox: { streamingList: "unknown" },
      policy: { pagesOnlyMs: 100_000 },
    })
    await watched.sees(() => watched.notebook.objects.length === 2)
    watched.clock.advance(3000)
    expect(watched.session.phase.tag).toBe("streaming-list")
    watched.clock.advance(2000)
    await watched.isWatching()
    expect(watched.queries("list").map((query) => Object.fromEntries(query))).toEqual([{ limit: "500" }])
    expect(watched.notebook.of("alarm")).toEqual([ignoring("it sent nothing more, and no bookmark that ends its list")])
    expect(watched.notebook.alive).toEqual(["a", "b"])
    const listsAgain = async (): Promise<number> => {
      const known = watched.notebook.objects.length
      watched.sandbox.faults.expireWatches()
      await watched.sees(() => watched.notebook.objects.length === known + 2)
      watched.clock.advance(5000)
      await watched.isWatching()
      return watched.queries("watch").filter((query) => query.has("sendInitialEvents")).length
    }
    expect(await listsAgain()).toBe(1)
    watched.clock.advance(100_000)
    expect(await listsAgain()).toBe(2)
    expect(watched.session.statistics.unendedLists).toBe(2)
    expect(watched.notebook.of("alarm")).toHaveLength(1)
  })

  test("rule 2: a server that ignores sendInitialEvents and has nothing to send is paged after 30 s", async () => {
    const watched = await start({ sandbox: { streamingList: "unknown" } })
    await watched.sees(() => "part" in watched.session.phase && watched.session.phase.part === "empty")
    watched.clock.advance(29_000)
    expect(watched.session.phase.tag).toBe("streaming-list")
    watched.clock.advance(10_000)
    await watched.isWatching()
    expect(watched.queries("list")).toHaveLength(1)
  })

  test("rule 2: a busy server that ignores sendInitialEvents is paged within 5 s of its first change, however many it sends", async () => {
    const watched = await start({ before: holding("a", "b"), sandbox: { streamingList: "unknown" } })
    await watched.sees(() => watched.notebook.objects.length === 2)
    for (let second = 0; second < 4; second++) {
      expect(watched.session.phase.tag).toBe("streaming-list")
      const seen = watched.notebook.objects.length
      watched.put("a", { second: String(second) })
      if (second % 2 === 0) watched.delete("b")
      else watched.put("b", { second: String(second) })
      await watched.sees(() => watched.notebook.objects.length === seen + 2)
      watched.clock.advance(1000)
    }
    await watched.isWatching()
    expect(watched.queries("list").map((query) => Object.fromEntries(query))).toEqual([{ limit: "500" }])
    expect(watched.notebook.of("alarm")).toEqual([ignoring("it sends changes, and no bookmark that ends its list")])
    expect(watched.notebook.of("state").filter((state) => state.startsWith("failing"))).toEqual([])
  })

  /** A server that sends a watch line by line, when it is told to; it also has the objects of the lines as a list. */
  const dictated = async (lines: ReadonlyArray<string>): Promise<{ watched: Watched; send(): void }> => {
    const server = new DictatedWatch(lines)
    const watched = await start({
      before: holding("a", "b", "c"),
      through: (sandbox) => server.before(sandbox.endpoint),
    })
    await watched.sees(() => server.isAsked)
    return { watched, send: () => server.send() }
  }
  const event = (type: string, name: string, version: number): string =>
    JSON.stringify({
      type,
      object: { metadata: { name, namespace: "default", uid: name, resourceVersion: `${version}` } },
    })
  const end = (version: number): string =>
    JSON.stringify({
      type: "BOOKMARK",
      object: { metadata: { resourceVersion: `${version}`, annotations: { "k8s.io/initial-events-end": "true" } } },
    })

  test("rule 2: a server that sends the objects in another order is paged at the first that shows it", async () => {
    const { watched, send } = await dictated([
      event("ADDED", "b", 1004),
      event("ADDED", "c", 1005),
      event("ADDED", "a", 1003),
    ])
    send()
    send()
    await watched.sees(() => watched.notebook.objects.length === 2)
    expect(watched.session.phase.tag).toBe("streaming-list")
    send()
    await watched.sees(() => watched.sandbox.watchCount("configmaps") === 1)
    expect(watched.queries("list")).toHaveLength(1)
    expect(watched.notebook.of("alarm")).toEqual([ignoring("its objects are not in the order of their names")])
    expect(watched.notebook.alive).toEqual(["a", "b", "c"])
  })

  test("rule 2: a slow server that pauses for less than 4 s between objects, and sends changes before the end, is believed", async () => {
    const lines = [event("ADDED", "a", 1003), event("ADDED", "b", 1004), event("ADDED", "c", 1002)]
    const changes = [event("MODIFIED", "b", 1006), event("ADDED", "aa", 1007), end(1007)]
    const { watched, send } = await dictated([...lines, ...changes])
    for (const [index] of lines.entries()) {
      watched.clock.advance(3900)
      send()
      await watched.sees(() => watched.notebook.objects.length === index + 1)
    }
    send()
    send()
    await watched.sees(() => watched.notebook.objects.length === 5)
    watched.clock.advance(3900)
    expect(watched.session.phase.tag).toBe("streaming-list")
    send()
    await watched.sees(() => watched.session.phase.tag === "watching")
    expect(watched.notebook.of("list completed")).toEqual(["1007"])
    expect(watched.queries("list")).toEqual([])
    expect(watched.session.statistics.unendedLists).toBe(0)
  })

  test("rule 2: a slow server that pauses for longer is paged once, which has no such limit", async () => {
    const { watched, send } = await dictated([event("ADDED", "a", 1003), event("ADDED", "b", 1004), end(1005)])
    send()
    await watched.sees(() => watched.notebook.objects.length === 1)
    watched.clock.advance(5000)
    await watched.sees(() => watched.sandbox.watchCount("configmaps") === 1)
    expect(watched.notebook.of("list started")).toEqual(["first", "first"])
    expect(watched.notebook.alive).toEqual(["a", "b", "c"])
    watched.sandbox.faults.expireWatches()
    await watched.sees(() => watched.notebook.of("list completed").length === 2)
    expect(watched.session.statistics).toMatchObject({ unendedLists: 1, relists: 1 })
  })

  test("rule 2: that a kind has to be listed in pages is forgotten after a while", async () => {
    const watched = await watching({
      before: holding("a"),
      sandbox: { streamingList: "rejected" },
      policy: { pagesOnlyMs: 100_000 },
    })
    const streamed: number[] = []
    for (let relist = 0; relist < 3; relist++) {
      watched.clock.advance(40_000)
      const lists = watched.notebook.of("list completed").length
      watched.sandbox.faults.expireWatches()
      await watched.sees(() => watched.notebook.of("list completed").length > lists)
      await watched.isWatching()
      streamed.push(watched.queries("watch").filter((query) => query.has("sendInitialEvents")).length)
    }
    expect(streamed).toEqual([1, 1, 2])
  })

  test("rule 2: a kind of an aggregated API is listed in pages from the start, and for ever", async () => {
    const watched = await watching({
      before: holding("a"),
      lists: { inPages: true, gzip: false },
      policy: { pagesOnlyMs: 1000 },
    })
    expect(watched.queries("list").map((query) => Object.fromEntries(query))).toEqual([{ limit: "500" }])
    watched.clock.advance(40_000)
    watched.sandbox.faults.expireWatches()
    await watched.sees(() => watched.notebook.of("list completed").length === 2)
    expect(watched.queries("watch").filter((query) => query.has("sendInitialEvents"))).toEqual([])
  })

  test("rule 2: items of a list are delivered before the response has ended", async () => {
    const watched = await start({
      before: holding(...numbered(400)),
      sandbox: { streamingList: "rejected" },
      sink: (notebook) => {
        notebook.onObserved = () => {
          notebook.isWritable = false
        }
        return notebook
      },
    })
    const { notebook, session } = watched
    await watched.sees(() => notebook.objects.length > 0)
    const early = notebook.objects.length
    expect(early).toBeLessThan(400)
    expect(notebook.of("list completed")).toEqual([])
    notebook.onObserved = undefined
    notebook.isWritable = true
    session.resume()
    await watched.isWatching()
    expect(new Set(notebook.objects.map(({ name }) => name))).toEqual(new Set(numbered(400)))
    expect(notebook.objects).toHaveLength(400)
  })

  test("rule 2: a continue token that expires is followed by one list of everything, without limit", async () => {
    const watched = await start({
      before: holding(...numbered(30)),
      sandbox: { streamingList: "rejected", historyLimit: 5 },
      policy: { pageSize: 10 },
      sink: (notebook) => {
        notebook.onObserved = () => {
          if (notebook.objects.length !== 10) return
          // While the first page is read, its objects change more often than the server remembers.
          for (let change = 1; change < 10; change++) watched.put(`object-${change}`)
          watched.delete("object-0")
        }
        return notebook
      },
    })
    await watched.isWatching()
    const lists = watched.requests("list")
    expect(lists.map(({ status }) => status)).toEqual([200, 410, 200])
    expect(watched.queries("list").map((query) => [...query.keys()])).toEqual([["limit"], ["limit", "continue"], []])
    // The first of them was rejected as a streaming list; the pages are discarded once everything is requested.
    expect(watched.notebook.of("list started")).toEqual(["first", "first", "first"])
    expect(watched.notebook.of("list completed")).toEqual([watched.sandbox.resourceVersion])
    expect(watched.notebook.of("state").filter((state) => state.startsWith("failing"))).toEqual([])
    expect(watched.notebook.alive).toEqual([...numbered(30)].filter((name) => name !== "object-0").sort())
    const change = watched.put("object-1")
    await watched.caughtUp()
    expect(watched.notebook.events).toEqual([`applied ${change}`])
  })

  test("rule 2: pages and refusals leave nothing behind", async () => {
    const watched = await start({
      sandbox: { streamingList: "rejected" },
      policy: { pageSize: 5 },
      before: (sandbox) => {
        holding(...numbered(50))(sandbox)
        sandbox.faults.respond("configmaps", 500, { times: 3 })
      },
    })
    for (let failure = 0; failure < 3; failure++) await watched.passes()
    await watched.isWatching()
    // Those of the watch: its silence check, its successor, and the server's end of it.
    expect(watched.clock.pending).toBe(3)
  })
})
