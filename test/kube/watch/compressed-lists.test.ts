/** Lists that the server compresses, or that something between here and the server compresses wrongly. */
import { gzipSync } from "node:zlib"
import { describe, expect, test } from "vitest"
import { eventually } from "../../harness/eventually.ts"
import { CompressingProxy, type Compression, gzip } from "./compressing-proxy.ts"
import { holding, watchedSandboxes } from "./watched-sandbox.ts"

const { start } = watchedSandboxes()

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
