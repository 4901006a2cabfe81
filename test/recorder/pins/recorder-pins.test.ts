import * as Effect from "effect/Effect"
import { expect, test } from "vitest"
import type { Pin } from "../../../src/archive/index.ts"
import { formatMetrics } from "../../../src/recorder/metrics/metrics-text.ts"
import { type PinActors, RecorderPins } from "../../../src/recorder/pins/recorder-pins.ts"
import { ManualClock } from "../../runtime/manual-clock.ts"

const pin: Pin = {
  ...{ id: "a-1", from: 0, until: 9_000_000, note: "", source: "alert", labels: {}, createdMicros: 0, bytes: 700 },
  ...{ place: "kept", lostThrough: 2_000_000 },
}

test("what is lost of a pin in this life is said and counted once, and without pins nothing is asked for a scrape", async () => {
  const said: string[] = []
  const { lostThrough: _, ...whole } = pin
  let [pins, asked]: [ReadonlyArray<Pin>, number] = [[whole, { ...pin, id: "of-an-earlier-life" }], 0]
  const actors: PinActors = {
    list: () =>
      Effect.sync(() => {
        asked++
        return pins
      }),
    add: () => Effect.succeed(pin),
    remove: () => Effect.succeed(true),
    noteExported: () => Effect.succeed(true),
  }
  const log = { info: () => undefined, warn: (text: string) => void said.push(text) }
  const margins = { before: 0, after: 0, repeat: 0 }
  const kept = new RecorderPins({ actors, clock: new ManualClock(), margins, log })
  const scrape = async () => formatMetrics(await Effect.runPromise(kept.metrics()))
  expect(await scrape()).toMatch(/kubereel_pins 2\n[\s\S]*pins_bytes 1400\n[\s\S]*pins_lost_total 0\n/)
  expect(said).toEqual([])
  pins = [pin]
  expect(await scrape()).toMatch(/kubereel_pins 1\n[\s\S]*pins_bytes 700\n[\s\S]*pins_lost_total 1\n/)
  await scrape()
  expect(said).toEqual([expect.stringMatching(/^the pinned window a-1 lacks what happened up to 1970-01-01T00:00:02Z/)])
  pins = []
  expect(await scrape()).toMatch(/kubereel_pins 0\n[\s\S]*pins_lost_total 1\n/)
  await scrape()
  expect(asked).toBe(4)
})

test("an alert of which nothing more was heard is said once", async () => {
  const said: string[] = []
  const labels = { __heard__: "1970-01-01T00:00:00Z" }
  const { lostThrough: _, ...whole } = pin
  let pins: ReadonlyArray<Pin> = [{ ...whole, labels, place: "open" }]
  const never = () => Effect.die("no pin is made or removed here")
  const kept = new RecorderPins({
    actors: { list: () => Effect.sync(() => pins), add: never, remove: never, noteExported: never },
    ...{ clock: new ManualClock(), margins: { before: 0, after: 0, repeat: 0 } },
    log: { info: () => undefined, warn: (text) => void said.push(text) },
  })
  const list = () => Effect.runPromise(kept.list())
  await list()
  expect(said).toEqual([])
  pins = [{ ...whole, labels, place: "recording" }]
  await list()
  await list()
  expect(said).toEqual([
    "the pinned window a-1: Nothing was heard of its alert after 1970-01-01T00:00:00Z, not that it is resolved either; so the window ended.",
  ])
})
