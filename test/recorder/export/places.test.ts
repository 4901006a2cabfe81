/** The places of concurrent exports: no client has all of them. */
import { expect, test } from "vitest"
import {
  ExportPlaces,
  maximumExportsAtOnce,
  maximumPerClient,
  type Place,
} from "../../../src/recorder/export/places.ts"

const taken = (places: ExportPlaces, client: string): Place => {
  const place = places.take(client)
  if ("message" in place) throw new Error(place.message)
  return place
}

test("one client gets four of eight, and a place that is returned twice counts once", () => {
  const places = new ExportPlaces()
  const [first] = Array.from({ length: maximumPerClient }, () => taken(places, "a"))
  expect(places.take("a")).toEqual({
    message: "4 exports of this client are already running, which is the limit; try again",
  })
  for (let index = maximumPerClient; index < maximumExportsAtOnce; index++) taken(places, `b${index}`)
  expect(places.take("c")).toEqual({ message: "8 exports are already running, which is the limit; try again" })
  first?.giveBack()
  first?.giveBack()
  taken(places, "c")
  expect(places.take("d")).toHaveProperty("message")
})
