/** Readers of single responses: the same events however the bytes are split, and an end for every stream. */
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import type { StreamEnd } from "../../../../src/kube/http/transport.ts"
import { LineBudget } from "../../../../src/kube/scanner/line-splitter.ts"
import { compileDetectRules } from "../../../../src/kube/scanner/object/detect-rules.ts"
import { PageReader } from "../../../../src/kube/watch/streams/page-reader.ts"
import type { StreamEvents, StreamReader } from "../../../../src/kube/watch/streams/stream-reader.ts"
import { WatchReader } from "../../../../src/kube/watch/streams/watch-reader.ts"

const gvk = { group: "", version: "v1", kind: "ConfigMap" }
const rules = compileDetectRules({ gvk, detect: "all", ignore: [] })
const object = (version: string | number, more: object = {}) => ({
  metadata: { name: "a", uid: "u", resourceVersion: String(version), ...more },
})
const line = (type: string, content: object): string => `${JSON.stringify({ type, object: content })}\n`
const bookmark = (version: number, isEnd = false): string =>
  line("BOOKMARK", object(version, isEnd ? { annotations: { "k8s.io/initial-events-end": "true" } } : {}))

/** Records the events of a reader; `closeAt` disowns it after that many events, as a session may. */
const listen = (make: (events: StreamEvents) => StreamReader, closeAt = Number.POSITIVE_INFINITY) => {
  const said: string[] = []
  const say = (text: string): void => {
    said.push(text)
    if (said.length === closeAt) reader.disown()
  }
  let bytes = 0
  const reader = make({
    opened: (_, time) => say(`opened ${time}`),
    refused: (_, { code, reason, message }) => say(`refused ${code} ${reason} ${message}`),
    readBegins: () => undefined,
    firstBytes: () => say("first bytes"),
    object: ({ action, fromList, version }) => say(`object ${action} ${fromList} ${version}`),
    bookmark: (_, version) => say(`bookmark ${version}`),
    initialEventsEnd: (_, version) => say(`initial events end ${version}`),
    changesBegin: () => say("changes begin"),
    outOfOrder: () => say("out of order"),
    pageComplete: (_, version, token) => say(`page complete ${version} ${token}`),
    errorEvent: (_, { code, message }) => say(`error ${code} ${message}`),
    malformedLine: (_, description) => say(`malformed ${description}`),
    slowLine: () => undefined,
    readDone: (count) => {
      bytes += count
    },
    ended: (_, { tag, description }) => say(`ended ${tag}: ${description}`),
  })
  const receive = (text: string, pieces: ReadonlyArray<number> = []): void => {
    const whole = Buffer.from(text)
    let start = 0
    for (const piece of [...pieces, whole.length]) {
      const end = Math.min(whole.length, start + piece)
      // As in the connection: a buffer that is reused.
      const buffer = Buffer.concat([Buffer.from("before"), whole.subarray(start, end), Buffer.from("behind")])
      if (end > start) reader.data(buffer, 6, 6 + end - start)
      reader.readDone()
      buffer.fill(0x20)
      start = end
    }
  }
  return { said, receive, reader, bytes: () => bytes }
}
const watch = (streamingList = false, closeAt?: number) =>
  listen((events) => new WatchReader(1, events, rules, streamingList), closeAt)
const page = (closeAt?: number) => listen((events) => new PageReader(1, events, gvk, rules), closeAt)
const complete: StreamEnd = { tag: "complete" }
const noHeaders: ReadonlyMap<string, string> = new Map()

const budgeted: ReadonlyArray<[what: string, make: (events: StreamEvents, budget: LineBudget) => StreamReader]> = [
  ["line of a watch", (events, budget) => new WatchReader(1, events, rules, false, budget)],
  ["item of a list", (events, budget) => new PageReader(1, events, gvk, rules, budget)],
]

describe.each(budgeted)("a large %s that never ends", (_, make) => {
  const text = `{"items":[{"data":"${"x".repeat(5_000_000)}`
  test.each<[how: string, isClosed: boolean, end: StreamEnd]>([
    ["is lost with its connection", false, { tag: "truncated" }],
    ["is given up by its session", true, { tag: "aborted" }],
  ])("takes no memory of the others once it %s", (_how, isClosed, end) => {
    const memory = LineBudget.memory()
    const { receive, reader } = listen((events) => make(events, new LineBudget(memory, 0, 8_000_000)))
    const taken = (): number => new Int32Array(memory).reduce((sum, bytes) => sum + bytes, 0)
    reader.head(200, noHeaders)
    receive(text, [65_431, 65_431])
    expect(taken()).toBeGreaterThan(0)
    if (isClosed) reader.disown()
    reader.end(end)
    expect(taken()).toBe(0)
  })
})

const cuts = fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 40 })

describe("a watch", () => {
  const text =
    line("ADDED", object(1)) +
    line("MODIFIED", object(2)) +
    bookmark(3, true) +
    line("DELETED", object(4)) +
    bookmark(5)

  test("reports the same however its bytes are split", () => {
    fc.assert(
      fc.property(
        cuts,
        fc.constantFrom(text, text.replaceAll("\n", "\r\n\n"), text.replaceAll(":", " : ")),
        (pieces, given) => {
          const { said, receive, reader, bytes } = watch(true)
          reader.head(200, noHeaders)
          receive(given, pieces)
          reader.end(complete)
          expect(said).toEqual([
            "opened undefined",
            "first bytes",
            "object 1 true 1",
            "object 1 true 2",
            "changes begin",
            "initial events end 3",
            "object 2 false 4",
            "bookmark 5",
            "ended complete: the server ended the response",
          ])
          expect(bytes()).toBe(Buffer.byteLength(given))
        },
      ),
    )
  })

  test("reports nothing more after it was closed, wherever that happens", () => {
    for (let closeAt = 1; closeAt <= 8; closeAt++) {
      const { said, receive, reader } = watch(true, closeAt)
      reader.head(200, noHeaders)
      receive(text)
      reader.end({ tag: "aborted" })
      expect(said).toHaveLength(closeAt)
    }
  })

  test.each([
    ["not JSON", "nonsense\n"],
    ["of an unknown type", line("RENAMED", object(1))],
    ["without uid", line("ADDED", object(1, { uid: "" }))],
    ["without version", line("ADDED", object(""))],
    ["that is a bookmark without version", line("BOOKMARK", object(""))],
  ])("stops at a line %s and reports its position in the stream", (_, bad) => {
    const { said, receive, reader } = watch()
    reader.head(200, noHeaders)
    const good = line("ADDED", object(1))
    receive(good + bad + line("ADDED", object(3)))
    reader.end(complete)
    expect(said.slice(2)).toEqual(["object 1 false 1", expect.stringContaining(`at byte ${good.length}`)])
  })

  test("passes on an ERROR with its Status, or as a 500 without one, and nothing after it", () => {
    for (const [content, expected] of [
      [{ kind: "Status", code: 410, message: "too old" }, "error 410 too old"],
      [{ reason: "?" }, "error 500 an ERROR event without a Status"],
    ] as const) {
      const { said, receive, reader } = watch()
      reader.head(200, noHeaders)
      receive(line("ERROR", content) + line("ADDED", object(3)))
      reader.end(complete)
      expect(said.slice(2)).toEqual([expected])
    }
  })

  test("reports the server's time if the server sends it", () => {
    for (const [date, expected] of [
      ["Sat, 21 Nov 2026 12:00:00 GMT", "opened 1795262400000"],
      ["yesterday", "opened undefined"],
    ] as const) {
      const { said, reader } = watch()
      reader.head(200, new Map([["date", date]]))
      expect(said).toEqual([expected])
    }
  })

  test.each<readonly [StreamEnd, string]>([
    [complete, "ended complete: the server ended the response, 7 bytes of a line were truncated"],
    [{ tag: "truncated" }, "ended truncated: the server closed the connection, 7 bytes of a line were truncated"],
    [{ tag: "aborted" }, "ended aborted: closed by this client"],
    [
      { tag: "connection", code: "ECONNRESET", message: "reset" },
      "ended connection: reset, 7 bytes of a line were truncated",
    ],
    [{ tag: "malformed", message: "bad chunk" }, "ended malformed: bad chunk, 7 bytes of a line were truncated"],
    [{ tag: "timeout", afterMs: 5, message: "late" }, "ended timeout: late, 7 bytes of a line were truncated"],
  ])("reports how it ended: %j", (end, expected) => {
    const { said, receive, reader } = watch()
    reader.head(200, noHeaders)
    receive('{"type"')
    reader.end(end)
    expect(said.at(-1)).toBe(expected)
  })

  test("that never got a response has ended too", () => {
    const { said, reader } = watch()
    reader.end({ tag: "connection", code: "EMFILE", message: "no file is left" })
    expect(said).toEqual(["ended connection: no file is left (EMFILE)"])
  })
})

describe("a refusal", () => {
  test("is reported with its Status and Retry-After, once it is complete or truncated", () => {
    for (const end of [complete, { tag: "truncated" }] as const) {
      const { said, receive, reader } = watch()
      reader.head(429, new Map([["retry-after", "7"]]))
      receive('{"kind":"Status","code":429,"reason":"TooManyRequests","message":"slow down"}', [10, 10])
      reader.end(end)
      expect(said).toEqual(["refused 429 TooManyRequests slow down"])
    }
  })

  test("of a proxy is reported with its text, of which little is kept", () => {
    const { said, receive, reader } = page()
    reader.head(502, noHeaders)
    receive("<html><title>Bad Gateway</title>")
    for (let piece = 0; piece < 100; piece++) receive("x".repeat(60_000))
    reader.end(complete)
    expect(said).toEqual([expect.stringContaining("refused 502")])
    expect(said[0]).toContain("Bad Gateway")
    expect(said[0]?.length).toBeLessThan(2000)
  })
})

describe("a page of a list", () => {
  const list = (metadata: object) =>
    JSON.stringify({ kind: "ConfigMapList", metadata, items: [object(1), object(2, { name: "b" })] })

  test("reports the same however its bytes are split, whether its metadata come first or last", () => {
    const { metadata, items, kind } = JSON.parse(list({ resourceVersion: "9", continue: "more" })) as Record<
      string,
      unknown
    >
    fc.assert(
      fc.property(cuts, fc.boolean(), (pieces, isFirst) => {
        const { said, receive, reader } = page()
        reader.head(200, noHeaders)
        receive(JSON.stringify(isFirst ? { kind, metadata, items } : { items, kind, metadata }), pieces)
        reader.end(complete)
        expect(said.slice(2)).toEqual(["object 1 true 1", "object 1 true 2", "page complete 9 more"])
      }),
    )
  })

  test.each([
    ["cut off", list({ resourceVersion: "9" }).slice(0, -1), "malformed the list ends before its closing brace"],
    ["without version", list({}), "malformed the list has no metadata.resourceVersion"],
    ["that is not a list", "[]", "malformed"],
    [
      "with an item without uid",
      list({ resourceVersion: "9" }).replace('"uid":"u"', '"uid":""'),
      "malformed item 1 of a list is an object without uid",
    ],
  ])("%s is malformed", (_, text, expected) => {
    const { said, receive, reader } = page()
    reader.head(200, noHeaders)
    receive(text)
    reader.end(complete)
    expect(said.at(-1)).toContain(expected)
    expect(said.filter((saying) => saying.startsWith("ended"))).toEqual([])
  })

  test("that was cut off by the network has ended, and is not malformed", () => {
    const { said, receive, reader } = page()
    reader.head(200, noHeaders)
    receive(list({ resourceVersion: "9" }).slice(0, -1))
    reader.end({ tag: "truncated" })
    expect(said.at(-1)).toBe("ended truncated: the server closed the connection")
  })

  test("an empty one has no items; items may be null, as Go writes an empty slice", () => {
    for (const items of ["[]", "null"]) {
      const { said, receive, reader } = page()
      reader.head(200, noHeaders)
      receive(`{"kind":"PodList","metadata":{"resourceVersion":"9","continue":""},"items":${items}}`)
      reader.end(complete)
      expect(said.slice(2)).toEqual(["page complete 9 undefined"])
    }
  })
})

test("an item of another kind is no item of this list; items without a kind are", () => {
  const list = (...items: ReadonlyArray<object>): string =>
    JSON.stringify({ kind: "ConfigMapList", metadata: { resourceVersion: "10" }, items })
  const foreign = page()
  foreign.reader.head(200, new Map())
  foreign.receive(list(object(1), { apiVersion: "v1", kind: "Secret", ...object(2) }))
  expect(foreign.said.slice(2)).toEqual([
    "object 1 true 1",
    "malformed item 2 of a list is an object of another kind than v1.ConfigMap",
  ])
  const own = page()
  own.reader.head(200, new Map())
  own.receive(list(object(1), { apiVersion: "v1", kind: "ConfigMap", ...object(2) }))
  expect(own.said.slice(2)).toEqual(["object 1 true 1", "object 1 true 2"])
})

test("an ERROR event that is too large for a Status is not parsed, and means that the server failed", () => {
  const { said, receive, reader } = watch()
  reader.head(200, new Map())
  receive(line("ERROR", { kind: "Status", code: 410, message: "x".repeat(70_000) }), [30_000, 30_000])
  expect(said.at(-1)).toMatch(/^error 500 an ERROR event of 70\d+ bytes, which is no Status$/)
})
