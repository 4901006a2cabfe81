/** The places of concurrent exports: no client has all of them, and one that reads next to nothing does not keep its own. */
import { describe, expect, test } from "vitest"
import {
  ExportPlaces,
  maximumExportsAtOnce,
  maximumPerClient,
  type Place,
} from "../../../src/recorder/export/places.ts"
import { ManualClock } from "../../runtime/manual-clock.ts"

const clock = new ManualClock()

const placesOf = (...clients: ReadonlyArray<string>): { places: ExportPlaces; held: Place[] } => {
  const places = new ExportPlaces(clock)
  return { places, held: clients.map((client) => taken(places, client)) }
}

const taken = (places: ExportPlaces, client: string): Place => {
  const place = places.take(client)
  if ("message" in place) throw new Error(place.message)
  return place
}

/** The client takes so many pieces, each of `bytes` in `ms`. */
const read = (place: Place, { bytes, ms, pieces }: { bytes: number; ms: number; pieces: number }): void => {
  for (let piece = 0; piece < pieces; piece++) {
    const taken = place.taking(bytes)
    clock.advance(ms)
    taken()
  }
}

const kib = 1024

/** Whether another request needed each of these places. */
const areNeeded = (places: ReadonlyArray<Place>): Promise<ReadonlyArray<boolean>> =>
  Promise.all(places.map(async ({ needed }) => (await Promise.race([needed, false])) !== false))

describe("places", () => {
  test("one client gets four of eight, and a place that is returned twice counts once", () => {
    const { places, held } = placesOf(...Array(maximumPerClient).fill("a"))
    expect(places.take("a")).toEqual({
      message: "4 exports of this client are already running, which is the limit; try again",
    })
    held.push(
      ...Array.from({ length: maximumExportsAtOnce - maximumPerClient }, (_, index) => taken(places, `b${index}`)),
    )
    expect(places.take("c")).toEqual({ message: "8 exports are already running, which is the limit; try again" })
    held[0]?.giveBack()
    held[0]?.giveBack()
    taken(places, "c")
    expect(places.take("d")).toHaveProperty("message")
  })

  test("the slowest client gives up its place to another, and is told why", async () => {
    const { places, held } = placesOf("a", "b", "c", "d", "e", "f", "g", "h")
    const [slow, slower, fast] = held as [Place, Place, Place]
    read(slow, { bytes: 64 * kib, ms: 2000, pieces: 30 })
    read(slower, { bytes: 20 * kib, ms: 2000, pieces: 30 })
    read(fast, { bytes: 64 * kib, ms: 100, pieces: 600 })
    taken(places, "i")
    expect(await slower.needed).toBe("its client reads 10 KiB/s, and another request needs its place")
    taken(places, "i")
    expect(await slow.needed).toBe("its client reads 32 KiB/s, and another request needs its place")
    expect(places.take("i")).toHaveProperty("message")
    expect(await areNeeded([fast])).toEqual([false])
    // It is gone already.
    slow.giveBack()
    expect(places.take("i")).toHaveProperty("message")
  })

  test("a client that takes nothing at all is slow, too; one that waits for the recorder is not", async () => {
    const { places, held } = placesOf("a", "a", "a", "a")
    const [stalled, waiting] = held as [Place, Place]
    read(waiting, { bytes: 10, ms: 1, pieces: 100 })
    stalled.taking(64 * kib)
    clock.advance(29_000)
    expect(places.take("a")).toHaveProperty("message")
    clock.advance(1000)
    taken(places, "a")
    expect(await areNeeded([stalled, waiting])).toEqual([true, false])
  })

  test("a client that was slow and has become fast keeps its place", () => {
    const { places, held } = placesOf("a", "a", "a", "a")
    const [recovered] = held as [Place]
    read(recovered, { bytes: 64 * kib, ms: 2000, pieces: 30 })
    read(recovered, { bytes: 64 * kib, ms: 100, pieces: 600 })
    expect(places.take("a")).toHaveProperty("message")
  })

  test("one client's slow exports are none of another's business while there is room", async () => {
    const { places, held } = placesOf("a", "b", "b", "b", "b")
    const [slow] = held as [Place]
    read(slow, { bytes: kib, ms: 10_000, pieces: 6 })
    expect(places.take("b")).toHaveProperty("message")
    expect(await areNeeded([slow])).toEqual([false])
  })
  test("a client with all of its places gets none of another's, slow or not", async () => {
    const { places, held } = placesOf("a", "b", "b", "b", "b", "c", "d", "e")
    const [slow] = held as [Place]
    read(slow, { bytes: kib, ms: 10_000, pieces: 6 })
    expect(places.take("b")).toEqual({ message: "8 exports are already running, which is the limit; try again" })
    expect(await areNeeded([slow])).toEqual([false])
    taken(places, "f")
    expect(await areNeeded([slow])).toEqual([true])
  })
})
