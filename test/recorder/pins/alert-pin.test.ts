import { expect, test } from "vitest"
import type { Pin, PinRequest } from "../../../src/archive/index.ts"
import {
  alertPin,
  alertSentence,
  defaultAlertMargins,
  longestAlertMicros,
} from "../../../src/recorder/pins/alert-pin.ts"

const minute = 60_000_000
const start = 1_764_385_200_000_000
const margin = 30 * minute
const held = 480 * minute

const group = (startedAt: number, endedAt?: number, name = "a1") => ({
  ...{ group: name, startedAt, endedAt, note: "HighLatency", labels: { alertname: "HighLatency" } },
})

type KeyedPin = Pin & { readonly key?: string }

/** The pins after a request, as the store makes and extends them. */
const after = (pins: ReadonlyArray<KeyedPin>, request: PinRequest): ReadonlyArray<KeyedPin> => {
  const known = pins.find(({ key }) => key === request.key)
  const made: KeyedPin = {
    ...{ id: known?.id ?? `pin-${pins.length}`, note: "", createdMicros: 0, place: "open", bytes: 0, labels: {} },
    ...request,
    ...{ from: Math.min(request.from, known?.from ?? request.from) },
  }
  return [...pins.filter((pin) => pin !== known), made].toSorted((one, other) => one.from - other.from)
}

test("the window begins half an hour before the first alert, and is held open for two repeat intervals while one fires", () => {
  const request = alertPin(group(start), [], start + minute, defaultAlertMargins)
  expect(request).toMatchObject({ from: start - margin, until: start + minute + held, source: "alert" })
  expect(alertPin(group(start), [], start + minute, { before: 0, after: minute, repeat: 5 * minute })).toMatchObject({
    ...{ from: start, until: start + 11 * minute },
  })
  expect(alertPin(group(start), [], start, { before: 0, after: minute, repeat: 0 }).until).toBe(start + minute)
})

test("repeated notifications extend one pin, and that all is over ends it half an hour after the last alert", () => {
  let pins: ReadonlyArray<KeyedPin> = []
  const notify = (given: ReturnType<typeof group>, passed: number): void => {
    pins = after(pins, alertPin(given, pins, start + passed * minute, defaultAlertMargins))
  }
  for (const passed of [1, 241, 481, 721]) notify(group(start), passed)
  expect(pins.map(({ from, until }) => [from - start, until - start])).toEqual([[-margin, 721 * minute + held]])
  notify(group(start, start + 730 * minute), 732)
  expect(pins.map(({ from, until }) => [from - start, until - start])).toEqual([[-margin, 730 * minute + margin]])
  // From the other Alertmanager of a pair, about an alert that ended before.
  notify(group(start, start + 700 * minute), 733)
  expect(pins.map(({ until }) => until - start)).toEqual([730 * minute + margin])
})

test("a pin says as of when its alert fires, and when nothing more was heard of it", () => {
  const [pin] = after([], alertPin(group(start), [], start, defaultAlertMargins))
  if (pin === undefined) throw new Error("no pin")
  expect(alertSentence(pin)).toBe(
    "Its alert fired at 2025-11-29T03:00:00Z; the window is held open until it is resolved.",
  )
  for (const place of ["recording", "kept", "lost"] as const)
    expect(alertSentence({ ...pin, place })).toBe(
      "Nothing was heard of its alert after 2025-11-29T03:00:00Z, not that it is resolved either; so the window ended.",
    )
  expect(alertSentence({ ...pin, source: "command" })).toBeUndefined()
  const [resolved] = after([pin], alertPin(group(start, start + minute), [pin], start + minute, defaultAlertMargins))
  expect(resolved && alertSentence(resolved)).toBeUndefined()
})

test("a group whose first alert has ended, so that notifications begin later, still has one pin", () => {
  let pins = after([], alertPin(group(start), [], start, defaultAlertMargins))
  pins = after(pins, alertPin(group(start + 5 * minute), pins, start + 20 * minute, defaultAlertMargins))
  expect(pins).toHaveLength(1)
  expect(pins[0]).toMatchObject({ from: start - margin, until: start + 20 * minute + held })
})

test("another group, and the same one hours later, have pins of their own", () => {
  let pins = after([], alertPin(group(start), [], start, defaultAlertMargins))
  pins = after(pins, alertPin(group(start, undefined, "b2"), pins, start, defaultAlertMargins))
  pins = after(pins, alertPin(group(start + 600 * minute), pins, start + 600 * minute, defaultAlertMargins))
  expect(pins).toHaveLength(3)
})

test("of a group that fires for weeks its first day is kept", () => {
  let pins: ReadonlyArray<KeyedPin> = []
  for (let now = start; now < start + 21 * 1440 * minute; now += 240 * minute)
    pins = after(pins, alertPin(group(start), pins, now, defaultAlertMargins))
  expect(pins.map(({ from, until }) => [from, until])).toEqual([[start - margin, start - margin + longestAlertMicros]])
})

test("an alert from a clock that is ahead does not begin in the future", () => {
  const { from, until } = alertPin(group(start + 90 * minute), [], start, defaultAlertMargins)
  expect([from, until]).toEqual([start - margin, start + held])
})
