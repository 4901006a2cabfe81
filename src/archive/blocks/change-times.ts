/** When an object changed, as a frame says: for what is stored beside the events of the frame. */
import type { Observations } from "../../wire/observations.ts"

/** When a change happened and when it was received, µs since the Unix epoch. */
export interface ChangeTimes {
  readonly time: number
  readonly received: number
}

/**
 * The times of the first change of the object with this number in a frame, or `now` if it has none: then only its owners changed. `floors`: the
 * last times of the kind, before which nothing of it happened or was received.
 */
export const changeTimesOf = (events: Observations, number: number, floors: ChangeTimes, now: number): ChangeTimes => {
  let [time, received] = [now, now]
  for (let index = 0; index < events.count; index++) {
    if (events.objectNumber(index) !== number) continue
    time = events.time(index)
    received = events.received(index)
    break
  }
  return { time: Math.max(time, floors.time), received: Math.max(received, floors.received) }
}
