import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { encodeSimkube } from "../../../src/actors/exporter/encode-window.ts"
import type { ExportWindow } from "../../../src/actors/exporter/export-window.ts"
import {
  type Action,
  formatExactJson,
  type GapEvent,
  type JsonObject,
  memorySpool,
  type ObjectEvent,
  parseExactJson,
  SimkubeTraceWriter,
  type TrackedObject,
  UnwritableChangeError,
} from "../../../src/trace/index.ts"
import { jsonObject } from "../../trace/json-values.ts"

const tracked: TrackedObject = { podSpecTemplatePaths: [], trackLifecycle: false, skipOwned: false }
const trackedObjects = new Map(["apps/v1.Deployment", "v1.Pod"].map((gvk) => [gvk, tracked]))
const newWriter = (): SimkubeTraceWriter =>
  new SimkubeTraceWriter({ trackedObjects, startSeconds: 1000, spool: memorySpool() })

const event = (sequence: number, gvk: string, name: string, action: Action, object: string): ObjectEvent => ({
  type: "object",
  sequence,
  time: 1_000_000_000 + sequence * 300_000,
  gvk,
  action,
  uid: name,
  namespace: "shop",
  name,
  resourceVersion: String(sequence),
  object: Buffer.from(object),
})

const gap: GapEvent = {
  type: "gap",
  sequence: 0,
  time: 0,
  gvk: "v1.Pod",
  namespace: "shop",
  fromVersion: "",
  toVersion: "",
  fromTime: 0,
  toTime: 0,
  reason: "expired",
  detail: "",
}

type Item = ObjectEvent | GapEvent | undefined

const item: fc.Arbitrary<(sequence: number) => Item> = fc.oneof(
  {
    weight: 1,
    arbitrary: fc.constantFrom<() => Item>(
      () => undefined,
      () => gap,
    ),
  },
  {
    weight: 9,
    arbitrary: fc
      .record({
        gvk: fc.constantFrom("apps/v1.Deployment", "v1.Pod", "v1.Untracked"),
        name: fc.constantFrom("a", "b", "c"),
        action: fc.constantFrom<Action>("applied", "applied", "applied", "deleted", "vanished"),
        spec: jsonObject,
      })
      .map(({ gvk, name, action, spec }) => (sequence: number) => {
        const object = { metadata: { name, managedFields: [spec] }, spec }
        return event(sequence, gvk, name, action, action === "vanished" ? "" : formatExactJson(object))
      }),
  },
)

const windowOf = (snapshot: ReadonlyArray<Item>, events: ReadonlyArray<Item>): ExportWindow => ({
  // Like a recording: an object's bytes are valid until the next event is taken.
  *snapshot() {
    for (const each of snapshot) if (each === undefined || each.type === "object") yield* briefly(each)
  },
  *events() {
    for (const each of events) yield* briefly(each)
  },
})

function* briefly<Each extends Item>(each: Each): Generator<Each> {
  if (each?.type !== "object") return yield each
  const object = Uint8Array.from(each.object)
  yield { ...each, object }
  object.fill(0)
}

const piecesOf = async (pieces: AsyncIterable<Uint8Array>): Promise<Buffer> => {
  const taken: Array<Uint8Array> = []
  for await (const piece of pieces) taken.push(piece)
  return Buffer.concat(taken)
}

/** The writer's output for the same window, of parsed objects. */
const written = (window: ExportWindow): Buffer => {
  const writer = newWriter()
  const objectOf = (bytes: Uint8Array): JsonObject => parseExactJson(bytes) as JsonObject
  for (const each of window.snapshot())
    if (each !== undefined) writer.addSnapshot({ ...each, object: objectOf(each.object) })
  for (const each of window.events()) {
    if (each === undefined || each.type === "gap") continue
    if (each.action === "applied") writer.add({ ...each, action: "applied", object: objectOf(each.object) })
    else writer.add({ ...each, action: each.action })
  }
  return Buffer.concat([...writer.finish()])
}

describe("a window in SimKube's format", () => {
  test("is what the writer makes of its objects, to the byte", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(item, { maxLength: 10 }),
        fc.array(item, { maxLength: 40 }),
        async (snapshot, events) => {
          const window = windowOf(
            snapshot
              .map((make) => make(0))
              .map((each) => (each?.type === "object" && each.action === "applied" ? each : undefined)),
            events.map((make, index) => make(index + 1)),
          )
          const encoded = await piecesOf(encodeSimkube(window, newWriter(), []))
          expect(encoded.equals(written(window))).toBe(true)
        },
      ),
    )
  })

  test("pauses after 500 events, whatever they are, and after 1 MiB of objects", async () => {
    const pausesOf = async (events: ReadonlyArray<Item>): Promise<number> => {
      let pauses = 0
      for await (const { length } of encodeSimkube(windowOf([], events), newWriter(), [])) if (length === 0) pauses++
      return pauses
    }
    expect(await pausesOf(Array.from({ length: 1999 }, () => undefined))).toBe(3)
    const large = JSON.stringify({ spec: { text: "x".repeat(400_000) } })
    expect(await pausesOf(Array.from({ length: 9 }, (_, at) => event(at, "v1.Pod", "a", "applied", large)))).toBe(3)
  })

  test("ends at an object that cannot be written, and names it", async () => {
    const deep = `{"spec":${"[".repeat(2000)}${"]".repeat(2000)}}`
    const events = [
      event(1, "v1.Pod", "fine", "applied", "{}"),
      event(2, "v1.Pod", "gone", "deleted", "{}"),
      event(3, "v1.Pod", "deep", "applied", deep),
      event(4, "v1.Pod", "later", "applied", "{}"),
    ]
    const error = await piecesOf(encodeSimkube(windowOf([], events), newWriter(), [])).catch((cause) => cause)
    expect(error).toBeInstanceOf(UnwritableChangeError)
    expect(error).toMatchObject({ gvk: "v1.Pod", namespace: "shop", name: "deep" })
  })
})
