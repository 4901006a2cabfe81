import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { type BatchLimits, encodeSimkube } from "../../../src/actors/exporter/encode-simkube.ts"
import { type Encoding, ownThreadOnly } from "../../../src/actors/exporter/encoding-pool.ts"
import type { ExportWindow } from "../../../src/actors/exporter/export-window.ts"
import {
  type EncodedSimkubeBatch,
  encodeSimkubeBatch,
  type SimkubeBatch,
} from "../../../src/trace/formats/simkube/simkube-batch.ts"
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

/** The writer's output for the same window without batches, one event after another. */
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

/** Takes a batch when told to, and returns batches in the given order. */
const fickle = (choices: ReadonlyArray<number>): Encoding & { readonly taken: number } => {
  let next = 0
  let taken = 0
  const choose = (): number => choices[next++ % choices.length] ?? 0
  return {
    get taken() {
      return taken
    },
    lease: () => ({
      tryEncode: (batch: SimkubeBatch): Promise<EncodedSimkubeBatch> | undefined => {
        if (choose() % 3 === 0) return undefined
        taken++
        const encoded = encodeSimkubeBatch(batch)
        const turns = choose() % 5
        return (async () => {
          for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve))
          return encoded
        })()
      },
      [Symbol.dispose]: () => undefined,
    }),
  }
}

const smallLimits: BatchLimits = { batchBytes: 200, batchChanges: 5, batches: 3, aloneBytes: 0 }

describe("a window in SimKube's format", () => {
  test("is the same to the byte, with any encoder and in whatever order batches are completed", async () => {
    let helped = 0
    await fc.assert(
      fc.asyncProperty(
        fc.array(item, { maxLength: 10 }),
        fc.array(item, { maxLength: 40 }),
        fc.array(fc.nat(14), { minLength: 1, maxLength: 20 }),
        async (snapshot, events, choices) => {
          const window = windowOf(
            snapshot
              .map((make) => make(0))
              .map((each) => (each?.type === "object" && each.action === "applied" ? each : undefined)),
            events.map((make, index) => make(index + 1)),
          )
          const encoding = fickle(choices)
          const encoded = await piecesOf(encodeSimkube(window, newWriter(), [], encoding, smallLimits))
          expect(encoded.equals(written(window))).toBe(true)
          helped += encoding.taken
        },
      ),
    )
    expect(helped).toBeGreaterThan(100)
  })

  test("requests help only after it has done its own share", async () => {
    let leases = 0
    const encoding: Encoding = {
      lease: () => {
        leases++
        return ownThreadOnly.lease()
      },
    }
    const object = formatExactJson({ spec: { text: "x".repeat(1000) } })
    const events = Array.from({ length: 20 }, (_, index) => event(index + 1, "v1.Pod", "a", "applied", object))
    const limits = { ...smallLimits, batchBytes: 2048, aloneBytes: 10_000 }
    await piecesOf(encodeSimkube(windowOf([], events.slice(0, 8)), newWriter(), [], encoding, limits))
    expect(leases).toBe(0)
    await piecesOf(encodeSimkube(windowOf([], events), newWriter(), [], encoding, limits))
    expect(leases).toBe(1)
  })

  test("holds no more batches than allowed, and waits for the oldest", async () => {
    const batches: Array<() => void> = []
    const encoding: Encoding = {
      lease: () => ({
        tryEncode: (batch) =>
          new Promise((resolve) => {
            batches.push(() => resolve(encodeSimkubeBatch(batch)))
          }),
        [Symbol.dispose]: () => undefined,
      }),
    }
    const events = Array.from({ length: 100 }, (_, index) => event(index + 1, "v1.Pod", "a", "applied", "{}"))
    const pieces = encodeSimkube(windowOf([], events), newWriter(), [], encoding, smallLimits)
    for (let pulled = 0; pulled < smallLimits.batches - 1; pulled++) expect((await pieces.next()).value?.length).toBe(0)
    let isHere = false
    const next = pieces.next().then(() => {
      isHere = true
    })
    for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve))
    expect(isHere).toBe(false)
    expect(batches.length).toBe(smallLimits.batches)
    batches[0]?.()
    await next
    const ended = pieces.return()
    await ended
    expect(batches.length).toBe(smallLimits.batches)
  })

  test.each(["threads", "no threads"])(
    "ends at an object that cannot be written, and names it, with %s",
    async (threads) => {
      const deep = `{"spec":${"[".repeat(2000)}${"]".repeat(2000)}}`
      const events = [
        event(1, "v1.Pod", "fine", "applied", "{}"),
        event(2, "v1.Pod", "gone", "deleted", "{}"),
        event(3, "v1.Pod", "deep", "applied", deep),
        event(4, "v1.Pod", "later", "applied", "{}"),
      ]
      const encoding = threads === "threads" ? fickle([1, 2]) : ownThreadOnly
      const error = await piecesOf(encodeSimkube(windowOf([], events), newWriter(), [], encoding, smallLimits)).catch(
        (cause) => cause,
      )
      expect(error).toBeInstanceOf(UnwritableChangeError)
      expect(error).toMatchObject({ gvk: "v1.Pod", namespace: "shop", name: "deep" })
    },
  )

  test("fails with the reason if a batch is lost, and releases the lease", async () => {
    let held = 0
    const encoding: Encoding = {
      lease: () => {
        held++
        return { tryEncode: () => Promise.reject(new Error("the thread ended")), [Symbol.dispose]: () => void held-- }
      },
    }
    const events = Array.from({ length: 30 }, (_, index) => event(index + 1, "v1.Pod", "a", "applied", '{"spec":{}}'))
    await expect(piecesOf(encodeSimkube(windowOf([], events), newWriter(), [], encoding, smallLimits))).rejects.toThrow(
      "the thread ended",
    )
    expect(held).toBe(0)
  })
})
