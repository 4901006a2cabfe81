/** Pinned windows on their way to an object store that fails at times. */
import * as Effect from "effect/Effect"
import { expect, test } from "vitest"
import type { Pin } from "../../../src/archive/index.ts"
import { addressUrl } from "../../../src/blob/index.ts"
import { targetError } from "../../../src/blob/requests/target-error.ts"
import type { HttpApiSources } from "../../../src/recorder/http/http-api.ts"
import { formatMetrics } from "../../../src/recorder/metrics/metrics-text.ts"
import { PinExports } from "../../../src/recorder/pins/pin-exports.ts"
import { RecorderPins } from "../../../src/recorder/pins/recorder-pins.ts"
import { ManualClock } from "../../runtime/manual-clock.ts"

const to = { provider: "s3", host: undefined, region: undefined, bucket: "traces", key: "pins" } as const

const pinOf = (id: string, more: Partial<Pin> = {}): Pin => ({
  ...{ id, from: 1_000_000, until: 61_500_000, note: "", source: "alert", labels: {}, createdMicros: 0 },
  ...{ place: "recording", bytes: 0, ...more },
})

const exporting = (pins: Pin[]) => {
  const clock = new ManualClock()
  const [said, objects, asked]: [string[], Map<string, string>, string[]] = [[], new Map(), []]
  const state = { isAway: false, lists: 0, changes: 1, closed: 0, during: (): void => undefined }
  const startFrom =
    (place: string): HttpApiSources["startExport"] =>
    ({ start_time, end_time, format, compression }, reader) =>
      Effect.sync(() => {
        state.during()
        asked.push(`${place} ${start_time}..${end_time} ${format}+${compression}`)
        void reader.piece(Buffer.from("trace")).then(() => reader.end(undefined, 0))
        return {
          ...{ incomplete: undefined, future: undefined, unknownOwners: undefined, redacted: undefined, removed: [] },
          ...{ gaps: 0, late: undefined, leftOut: [], warnings: [], cancel: () => undefined },
        }
      })
  const never = () => Effect.die("no pin is made or removed here")
  const kept = new RecorderPins({
    actors: {
      list: () => Effect.sync(() => [...pins]),
      ...{ add: never, remove: never },
      noteExported: (id, exported) =>
        Effect.sync(() => {
          const index = pins.findIndex((pin) => pin.id === id)
          const pin = pins[index]
          if (pin !== undefined) pins[index] = { ...pin, exported }
          return pin !== undefined
        }),
    },
    ...{ clock, margins: { before: 0, after: 0, repeat: 0 }, log: { info: () => undefined, warn: () => undefined } },
  })
  const exports = new PinExports({
    pins: {
      get changes() {
        return state.changes
      },
      list: () => {
        state.lists++
        return kept.list()
      },
      find: (id) => kept.find(id),
      noteExported: (pin, atMicros) => kept.noteExported(pin, atMicros),
    },
    ...{ to, clock, random: () => 0, limits: { milliseconds: 60_000, bytes: 1000 } },
    log: { info: (text) => void said.push(text), warn: (text) => void said.push(text) },
    start: startFrom("recording"),
    openCopy: async (id) => ({ startExport: startFrom(id), close: async () => void state.closed++ }),
    openTarget: (address) => {
      if (state.isAway) return Effect.fail(targetError(address, "unreachable", "the store is away"))
      const location = addressUrl(address)
      let written = ""
      return Effect.succeed({
        location,
        write: async (piece) => {
          written += Buffer.from(piece).toString()
        },
        finish: async () => {
          objects.set(location, written)
          return { location, bytes: written.length }
        },
        abort: async () => undefined,
      })
    },
  })
  return { exports, clock, said, objects, asked, state, look: () => Effect.runPromise(exports.look()) }
}

test("a window is written once it is over, from the recording or from its copy, and once only", async () => {
  const pins = [pinOf("open", { place: "open" }), pinOf("over"), pinOf("copied", { place: "kept", bytes: 9 })]
  const { objects, asked, state, look } = exporting(pins)
  await look()
  await look()
  expect([...objects]).toEqual([
    ["s3://traces/pins/over.ndjson.zst", "trace"],
    ["s3://traces/pins/copied.ndjson.zst", "trace"],
  ])
  expect(asked).toEqual(["recording 1000000..61500000 ndjson+zstd", "copied 1000000..61500000 ndjson+zstd"])
  expect(state.closed).toBe(1)
})

test("a window of which a part was lost is written once it is over too", async () => {
  const pins = [pinOf("lost", { place: "open", lostThrough: 2_000_000 })]
  const { asked, look } = exporting(pins)
  await look()
  expect(asked).toEqual([])
  pins[0] = pinOf("lost", { place: "lost", lostThrough: 2_000_000 })
  await look()
  expect(asked).toEqual(["recording 1000000..61500000 ndjson+zstd"])
})

test("a window that is extended while it is written is written again, and noted only then", async () => {
  const pins = [pinOf("over")]
  const { exports, asked, state, look } = exporting(pins)
  state.during = () => {
    pins[0] = pinOf("over", { until: 90_000_000 })
  }
  await look()
  expect([pins[0]?.exported, formatMetrics(exports.metrics())]).toEqual([
    undefined,
    expect.stringMatching(/_total 0\n/),
  ])
  await look()
  await look()
  expect(asked).toEqual(["recording 1000000..61500000 ndjson+zstd", "recording 1000000..90000000 ndjson+zstd"])
  expect(pins[0]?.exported).toBeDefined()
})

test("a window that was copied while another was written is written from its copy", async () => {
  const pins = [pinOf("first"), pinOf("second")]
  const { asked, state, look } = exporting(pins)
  state.during = () => {
    pins[1] = pinOf("second", { place: "kept", bytes: 9 })
    state.during = () => undefined
  }
  await look()
  expect(asked.map((each) => each.split(" ")[0])).toEqual(["recording", "second"])
})

test("nothing is asked for when nothing is left to be exported, until there are more pins", async () => {
  const pins = [pinOf("over", { exported: 5 })]
  const { state, look } = exporting(pins)
  await look()
  await look()
  expect(state.lists).toBe(1)
  pins.push(pinOf("next"))
  state.changes++
  await look()
  expect([state.lists, pins.every(({ exported }) => exported !== undefined)]).toEqual([2, true])
})

test("what fails is said once, counted, and tried again after longer and longer times", async () => {
  const { exports, clock, said, objects, state, look } = exporting([pinOf("over")])
  state.isAway = true
  const attempts: number[] = []
  for (let seconds = 0; seconds < 300; seconds += 15) {
    const before = formatMetrics(exports.metrics())
    await look()
    if (formatMetrics(exports.metrics()) !== before) attempts.push(seconds)
    clock.advance(15_000)
  }
  expect(attempts).toEqual([0, 30, 90, 210])
  const line =
    /^the pinned window over cannot be written to s3:\/\/traces\/pins\/over\.ndjson\.zst: .*the store is away/
  expect(said).toEqual([expect.stringMatching(line)])
  state.isAway = false
  clock.advance(600_000)
  await look()
  expect([...objects.keys()]).toEqual(["s3://traces/pins/over.ndjson.zst"])
  expect(formatMetrics(exports.metrics())).toMatch(/exports_total 1\n[\s\S]*export_failures_total 4\n/)
})
