/** Any items of a stream of events come out as they were put in, however their bytes are cut on the way. */
import fc from "fast-check"
import { expect, test } from "vitest"
import { type EventForm, encodedItem } from "../../../src/actors/reader/event-encoding.ts"
import { linesOf } from "../../../src/cli/past/past-client.ts"
import { ItemBoundaries } from "../../../src/recorder/http/event-body.ts"
import { streamEndItem } from "../../../src/recorder/http/stream-end.ts"
import { compactJson } from "../../../src/trace/index.ts"

interface Item {
  readonly type: string
  readonly sequence: number
  readonly name: string
  readonly object: unknown
}

/** Text that a careless encoding breaks. */
const anyText = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.string({ unit: fc.constantFrom("\n", "\r", '"', "\\", ":", " ", "\u2028", "\u{1F600}", "data: ", "id: 7\n\n") }),
  fc.constantFrom('"sequence":5', '{"sequence":6,', "\n\n"),
)

const anyItems: fc.Arbitrary<ReadonlyArray<Item>> = fc.array(
  fc.record({
    type: fc.constantFrom("appeared", "changed", "gap", "progress"),
    sequence: fc.nat(1e9),
    name: anyText,
    // JSON has no negative zero.
    object: fc
      .oneof(fc.jsonValue(), anyText, fc.dictionary(anyText, anyText))
      .map((value) => JSON.parse(JSON.stringify(value)) as unknown),
  }),
  { maxLength: 12 },
)

/** As the reader puts an item together: its facts, then the object as it was recorded, which may be on several lines. */
const jsonOf = ({ object, ...facts }: Item): ReadonlyArray<string | Uint8Array> => [
  `${JSON.stringify(facts).slice(0, -1)},"object":`,
  compactJson(Buffer.from(JSON.stringify(object, undefined, 2))),
  "}",
]

const bytesOf = (form: EventForm, items: ReadonlyArray<Item>): ReadonlyArray<Buffer> =>
  items.map((item) => Buffer.concat([...encodedItem(form, item, jsonOf(item)), "\n"].map((part) => Buffer.from(part))))

/** Cut at these places, in any order; a place beyond the end is none. */
const cut = (bytes: Buffer, places: ReadonlyArray<number>): ReadonlyArray<Buffer> => {
  const sorted = [0, ...places.map((place) => place % (bytes.length + 1)).sort((one, other) => one - other)]
  return sorted.map((start, index) => bytes.subarray(start, sorted[index + 1]))
}

const anyPlaces = fc.array(fc.nat(), { maxLength: 30 })

interface DispatchedEvent {
  readonly id: string
  readonly event: string
  readonly data: string
}

/** As a browser interprets a stream: https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation. */
const dispatched = (text: string): ReadonlyArray<DispatchedEvent> => {
  const events: DispatchedEvent[] = []
  let [id, event, data] = ["", "", ""]
  const lines = text.split(/\r\n|\n|\r/)
  for (const line of lines.slice(0, -1)) {
    if (line === "") {
      if (data !== "") events.push({ id, event, data: data.slice(0, -1) })
      ;[event, data] = ["", ""]
      continue
    }
    const [, field, value = ""] = /^([^:]*):? ?(.*)$/su.exec(line) ?? []
    if (field === "id") id = value
    else if (field === "event") event = value
    else if (field === "data") data += `${value}\n`
  }
  return events
}

test("Server-Sent Events are dispatched as the items that were encoded, with their sequence numbers and types", () => {
  fc.assert(
    fc.property(anyItems, (items) => {
      const events = dispatched(Buffer.concat(bytesOf("server-sent-events", items)).toString())
      expect(events.map(({ data }) => JSON.parse(data))).toEqual(items)
      expect(events.map(({ id, event }) => [Number(id), event])).toEqual(
        items.map(({ sequence, type }) => [sequence, type]),
      )
    }),
  )
})

test("lines are decoded to the items that were encoded, in whatever pieces they arrive", async () => {
  await fc.assert(
    fc.asyncProperty(anyItems, anyPlaces, async (items, places) => {
      const pieces = (async function* () {
        yield* cut(Buffer.concat(bytesOf("lines", items)), places)
      })()
      const decoded: unknown[] = []
      for await (const line of linesOf(pieces)) decoded.push(JSON.parse(Buffer.from(line).toString()))
      expect(decoded).toEqual(items)
    }),
  )
})

test("where items end, and which sequence number the last whole one has, is known after each piece", () => {
  fc.assert(
    fc.property(
      fc.constantFrom<EventForm>("lines", "server-sent-events"),
      anyItems,
      anyPlaces,
      (form, items, places) => {
        const encoded = bytesOf(form, items)
        let length = 0
        const ends = encoded.map((bytes) => {
          length += bytes.length
          return length
        })
        const boundaries = new ItemBoundaries(form, 17)
        let sent = 0
        for (const piece of cut(Buffer.concat(encoded), places)) {
          const next = ends.find((end) => end > sent && end <= sent + piece.length)
          expect(boundaries.firstEnd(piece)).toBe(next === undefined ? undefined : next - sent)
          boundaries.add(piece)
          sent += piece.length
          const whole = ends.filter((end) => end <= sent).length
          expect(boundaries.isBetween).toBe(sent === (ends[whole - 1] ?? 0))
          expect(boundaries.sequence).toBe(items[whole - 1]?.sequence ?? 17)
        }
      },
    ),
  )
})

test("the last item is one of its form, also if there is no event to go on after", () => {
  for (const sequence of [undefined, 5]) {
    const item = { type: "end", reason: "stopping", ...(sequence !== undefined && { sequence }) }
    expect(JSON.parse(streamEndItem("lines", "stopping", sequence).toString())).toEqual(item)
    const [event] = dispatched(streamEndItem("server-sent-events", "stopping", sequence).toString())
    expect([event?.id, event?.event, JSON.parse(event?.data ?? "")]).toEqual([
      sequence === undefined ? "" : "5",
      "end",
      item,
    ])
  }
})
