/** A replay may start anywhere in a trace: what it creates first is the state that the trace has there. */
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { ApiClient } from "../../../src/kube/client/api-client.ts"
import { Sandbox } from "../../../src/sandbox/sandbox.ts"
import { Replay } from "../../../src/simulation/replay/replay.ts"
import { openDecoder } from "../../../src/trace/files/codecs.ts"
import type { TraceItem } from "../../../src/trace/trace-item.ts"
import { patient } from "../../harness/patience.ts"
import { type PublishedName, publishedTrace, whyNoPublished } from "../../trace/formats/traces.ts"
import { differences, stateAt } from "../trace-state.ts"
import { plainReplay } from "./plain-replay.ts"
import { change, chunks, traceOf } from "./random-trace.ts"

const instants = 5

/** Replays nothing but the state at a moment, into a cluster without workload controllers, and compares. */
const seededWrongly = async (items: ReadonlyArray<TraceItem>, moment: number): Promise<ReadonlyArray<string>> => {
  await using sandbox = await Sandbox.start({ lifecycle: true })
  const client = new ApiClient({ server: sandbox.endpoint, userAgent: "kubereel-test" })
  try {
    const window = { from: moment, to: moment, duration: undefined, now: moment }
    const options = { ...plainReplay(client, "instant", chunks(items), moment), window, keep: true }
    const report = await new Replay(options).run()
    expect(report).toMatchObject({ stopped: null, refused: [], events: { total: 0 } })
    const header = items.find(({ type }) => type === "header")
    const named = header?.type === "header" ? header.kinds : []
    const state = stateAt(items, moment)
    const kinds = new Set([...named, ...[...state.values()].map(({ gvk }) => gvk)])
    return await differences(client, state, kinds)
  } finally {
    client.close()
  }
}

/** A moment at which something changes, or between two. Not the very start: nothing would have to be found out there. */
const momentIn = (items: ReadonlyArray<TraceItem>): fc.Arbitrary<number> => {
  const times = items.flatMap((item) => (item.type === "event" && !item.isSnapshot ? [item.event.time] : []))
  const distinct = [...new Set(times)].toSorted((left, right) => left - right)
  return fc
    .tuple(fc.integer({ min: 1, max: distinct.length - 1 }), fc.boolean())
    .map(([index, isBetween]) => (distinct[index] ?? 0) - (isBetween ? 1 : 0))
}

describe("a published trace", () => {
  const read = async (name: PublishedName): Promise<ReadonlyArray<TraceItem>> => {
    const decoder = await openDecoder("simkube")
    const bytes = publishedTrace(name)
    const items: TraceItem[] = []
    const add = (part: Iterable<TraceItem>): void => {
      for (const item of part)
        items.push(
          item.type === "event" && item.event.type === "object"
            ? { ...item, event: { ...item.event, object: Uint8Array.from(item.event.object) } }
            : structuredClone(item),
        )
    }
    add(decoder.push(bytes))
    add(decoder.end())
    return items
  }

  test.for(["dsb-scaling.sktrace", "bare-pods.sktrace"] as const)(
    "%s is seeded with its state at any instant",
    { timeout: patient(20_000) },
    async (name, context) => {
      if (whyNoPublished !== undefined) context.skip(whyNoPublished)
      const items = await read(name)
      const property = fc.asyncProperty(momentIn(items), async (moment) => {
        expect(await seededWrongly(items, moment)).toEqual([])
      })
      await fc.assert(property, { numRuns: instants })
    },
  )
})

test(
  "a trace with custom kinds, owners and cluster-scoped objects is seeded with its state at any instant",
  async () => {
    const traces = fc.array(change, { minLength: 20, maxLength: 60 }).map(traceOf)
    const started = traces.chain((items) => momentIn(items).map((moment) => ({ items, moment })))
    const property = fc.asyncProperty(started, async ({ items, moment }) => {
      expect(await seededWrongly(items, moment)).toEqual([])
    })
    await fc.assert(property, { numRuns: instants })
  },
  patient(20_000),
)
