/** Entries with members dropped, moved and replaced, and bytes that are no text: whatever comes, there is a trace that can be read, or a message. */
import fc from "fast-check"
import { expect, test } from "vitest"
import type { JsonValue } from "../../src/trace/index.ts"
import { rounds } from "../harness/effort.ts"
import { auditEvent } from "./audit-events.ts"
import { imported, ran } from "./imported.ts"
import { ModelServer, type Step } from "./model-server.ts"

/** A log with every sort of write. */
const steps: ReadonlyArray<Step> = [
  { do: "create", kind: "Pod", name: "a", value: 1 },
  { do: "bind", name: "a" },
  { do: "run", name: "a" },
  { do: "finalize", kind: "Pod", name: "a" },
  { do: "evict", name: "a" },
  { do: "create", kind: "Deployment", name: "a", value: 1 },
  { do: "scale", name: "a", value: 3 },
  { do: "delete", kind: "Deployment", name: "a", grace: undefined },
  { do: "create", kind: "ConfigMap", name: "a", value: 1 },
  { do: "create", kind: "Pod", name: "b", value: 1 },
  { do: "bind", name: "b" },
  { do: "clear", kind: "Pod" },
  { do: "delete", kind: "Pod", name: "b", grace: 0 },
  { do: "unfinalize", kind: "Pod", name: "a" },
  { do: "clear", kind: "ConfigMap" },
]
const server = new ModelServer()
for (const step of steps) server.take(step)
const log = server.events.filter(({ stage }) => stage === "ResponseComplete")

const odd: fc.Arbitrary<JsonValue> = fc.oneof(
  fc.constantFrom<JsonValue>(
    ...[
      null,
      true,
      -1,
      0,
      1e300,
      "",
      "x",
      "a/b.C",
      "\0",
      "v1",
      "Pod",
      "Status",
      "Scale",
      "PartialObjectMetadata",
      [],
      {},
    ],
    ...[[{}], { metadata: {} }, { items: [null] }, "9".repeat(30), "2026-02-31T00:00:00Z"],
  ),
  fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<JsonValue>,
)
/** Which member, of those that a walk finds, is dropped, replaced, or put in the place of another. */
const mutation = fc.record({
  at: fc.nat(),
  other: fc.nat(),
  how: fc.constantFrom("drop", "replace", "replace", "move"),
  value: odd,
})

type Holder = Record<string, JsonValue>
const placesIn = (value: JsonValue, found: Array<{ readonly holder: Holder; readonly name: string }> = []) => {
  if (typeof value === "object" && value !== null)
    for (const name of Object.keys(value)) {
      found.push({ holder: value as Holder, name })
      placesIn((value as Holder)[name] as JsonValue, found)
    }
  return found
}

test("mutants of a log become a trace that can be read, or a message", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(mutation, { minLength: 1, maxLength: 12, size: "max" }), async (mutations) => {
      const events: JsonValue = structuredClone(log) as unknown as JsonValue
      for (const { at, other, how, value } of mutations) {
        const places = placesIn(events)
        const place = places[at % places.length]
        const source = places[other % places.length]
        if (place === undefined || source === undefined) continue
        if (how === "drop") delete place.holder[place.name]
        else if (how === "replace") place.holder[place.name] = structuredClone(value)
        else place.holder[place.name] = structuredClone(source.holder[source.name] as JsonValue)
      }
      const text = `${JSON.stringify(auditEvent({ response: (log[0]?.responseObject ?? {}) as never }))}\n${(events as unknown as ReadonlyArray<JsonValue>).map((event) => `${JSON.stringify(event)}\n`).join("")}`
      const { items } = await imported([text])
      expect(items[0]?.type).toBe("header")
    }),
    { numRuns: rounds(1000) },
  )
})

test("bytes that are cut, flipped or foreign end with a trace or a message", async () => {
  const bytes = Buffer.from(log.map((event) => `${JSON.stringify(event)}\n`).join(""))
  const flip = fc.tuple(fc.nat({ max: bytes.length - 1 }), fc.integer({ min: 0, max: 255 }))
  await fc.assert(
    fc.asyncProperty(fc.array(flip, { maxLength: 30 }), fc.nat({ max: bytes.length }), async (flips, length) => {
      const mutant = Buffer.from(bytes.subarray(0, length))
      for (const [at, byte] of flips) if (at < length) mutant[at] = byte
      const { outcome } = await ran([mutant])
      expect(["imported", "failed"]).toContain(outcome.tag)
    }),
    { numRuns: rounds(400) },
  )
})
