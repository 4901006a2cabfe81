/** Where the time axis has marks, and how times are written. Times are µs since the Unix epoch. */

import type { Span } from "../source/source.ts"

const second = 1_000_000
const minute = 60 * second
const hour = 60 * minute
const day = 24 * hour

const steps = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500].flatMap((each) => [each, each * 1000]).sort((one, other) => one - other),
  ...[1, 2, 5, 10, 15, 30].map((each) => each * second),
  ...[1, 2, 5, 10, 15, 30].map((each) => each * minute),
  ...[1, 2, 3, 6, 12].map((each) => each * hour),
  ...[1, 2, 7, 14, 28, 91, 182, 365, 730].map((each) => each * day),
]

export interface Zone {
  readonly isUtc: boolean
}

/** µs to add to a time so that its UTC parts are those of the zone. */
const shiftOf = ({ isUtc }: Zone, micros: number): number =>
  isUtc ? 0 : -new Date(micros / 1000).getTimezoneOffset() * minute

const partsOf = (
  zone: Zone,
  micros: number,
): { readonly day: string; readonly time: string; readonly rest: number } => {
  const shifted = micros + shiftOf(zone, micros)
  const milliseconds = Math.floor(shifted / 1000)
  const date = new Date(milliseconds)
  if (Number.isNaN(date.getTime())) return { day: "", time: String(micros), rest: 0 }
  const text = date.toISOString()
  return { day: text.slice(0, 10), time: text.slice(11, 23), rest: Math.floor(shifted - milliseconds * 1000) }
}

/** `2026-11-21 10:20:00.123`; with µs where the window is that short. */
export const momentText = (zone: Zone, micros: number, isFine = false): string => {
  const { day: date, time, rest } = partsOf(zone, micros)
  return `${date} ${time}${isFine ? String(rest).padStart(3, "0") : ""}`
}

/** `1.5 s`, `12 min 30 s`. */
export const durationText = (micros: number): string => {
  const size = Math.abs(micros)
  if (size < 1000) return `${Math.round(micros)} µs`
  if (size < second) return `${+(micros / 1000).toPrecision(3)} ms`
  if (size < minute) return `${+(micros / second).toPrecision(3)} s`
  const units = [
    [day, "d"],
    [hour, "h"],
    [minute, "min"],
    [second, "s"],
  ] as const
  const first = units.findIndex(([unit]) => size >= unit)
  const [large, small] = [units[first], units[first + 1]]
  if (large === undefined) return ""
  const whole = Math.trunc(micros / large[0])
  const rest = small === undefined ? 0 : Math.round(Math.abs(micros - whole * large[0]) / small[0])
  return small === undefined || rest === 0 ? `${whole} ${large[1]}` : `${whole} ${large[1]} ${rest} ${small[1]}`
}

interface Tick {
  readonly time: number
  readonly label: string
  /** Whether it begins a day or, where days are marks, a month. */
  readonly isMain: boolean
}

/** Pixels of a digit of a label, and of the space before it. */
const labelPixels = { digit: 7, before: 5 }

/** Marks for a window, at least `pixels` apart on an axis of that width. One whose label would be cut by the end has none. */
export const ticksOf = ({ from, to }: Span, width: number, { isUtc }: Zone, pixels = 110): ReadonlyArray<Tick> => {
  const least = ((to - from) / Math.max(1, width)) * pixels
  const step = steps.find((each) => each >= least) ?? Math.ceil(least / (365 * day)) * 365 * day
  const shift = shiftOf({ isUtc }, from)
  const ticks: Tick[] = []
  for (let time = Math.ceil((from + shift) / step) * step - shift; time <= to; time += step) {
    const parts = partsOf({ isUtc }, time)
    const isDay = (time + shift) % day === 0
    const label = step >= day || isDay ? parts.day : labelOf(parts.time, parts.rest, step)
    const room = ((to - time) / (to - from)) * width
    const isWhole = label.length * labelPixels.digit + labelPixels.before <= room
    ticks.push({ time, label: isWhole ? label : "", isMain: isDay })
  }
  return ticks
}

const labelOf = (time: string, rest: number, step: number): string => {
  if (step >= minute) return time.slice(0, 5)
  if (step >= second) return time.slice(0, 8)
  return step >= 1000 ? time : `${time.slice(6)}${String(rest).padStart(3, "0")}`
}
