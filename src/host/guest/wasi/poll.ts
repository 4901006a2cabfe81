/**
 * `poll_oneoff` without waiting: a guest shares its thread with others, so it is never put to sleep. What is ready is reported at once; a guest
 * that would have to wait longer than {@link shortestSleepNanos} is ended, since it would otherwise either hold up the others or spin.
 */
import type { GuestClock } from "./guest-clock.ts"
import type { GuestMemory } from "./guest-memory.ts"
import { errno } from "./wasi-functions.ts"

/**
 * Waits up to 1 ms end at once: run-times wait for some µs while they spin, and a guest that then looks at the clock again does not do so for
 * long.
 */
export const shortestSleepNanos = 1_000_000n

const subscriptionBytes = 48
const eventBytes = 32
const eventTypes = { clock: 0, read: 1, write: 2 } as const
/** `event.flags`: the other end has hung up. */
const hangUp = 1

export interface PollHost {
  readonly memory: GuestMemory
  readonly clock: GuestClock
  /** Ends the guest, because it would sleep that long. */
  sleep(nanos: bigint): never
}

/** @returns an error number of WASI. */
export const pollOneoff = (host: PollHost, input: number, output: number, count: number, counted: number): number => {
  const { memory, clock } = host
  if (count === 0) return errno.invalid
  const fits = memory.has(input, count * subscriptionBytes) && memory.has(output, count * eventBytes)
  if (!fits || !memory.has(counted, 4)) return errno.fault
  const view = memory.view()
  let events = 0
  let shortest: bigint | undefined
  const report = (at: number, error: number, flags = 0): void => {
    const event = output + events++ * eventBytes
    // Read before it is written: input and output may overlap.
    const userData = view.getBigUint64(at, true)
    const type = view.getUint8(at + 8)
    memory.bytes(event, eventBytes).fill(0)
    view.setBigUint64(event, userData, true)
    view.setUint16(event + 8, error, true)
    view.setUint8(event + 10, type)
    view.setUint16(event + 24, flags, true)
  }
  for (let index = 0; index < count; index++) {
    const at = input + index * subscriptionBytes
    const type = view.getUint8(at + 8)
    if (type === eventTypes.clock) {
      const left = leftOf(view, at, clock)
      if (left === undefined) report(at, errno.invalid)
      else if (left <= shortestSleepNanos) report(at, errno.success)
      else if (shortest === undefined || left < shortest) shortest = left
    } else if (type === eventTypes.read || type === eventTypes.write) {
      const file = view.getUint32(at + 16, true)
      const isOpen = type === eventTypes.read ? file === 0 : file === 1 || file === 2
      report(at, isOpen ? errno.success : errno.badFile, isOpen && type === eventTypes.read ? hangUp : 0)
    } else return errno.invalid
  }
  if (events === 0 && shortest !== undefined) host.sleep(shortest)
  view.setUint32(counted, events, true)
  return errno.success
}

/** ns until a clock's subscription is due; `undefined` for a clock that guests do not have. */
const leftOf = (view: DataView, at: number, clock: GuestClock): bigint | undefined => {
  const id = view.getUint32(at + 16, true)
  if (id > 1) return undefined
  const time = view.getBigUint64(at + 24, true)
  const isAbsolute = (view.getUint16(at + 40, true) & 1) !== 0
  if (!isAbsolute) return time
  return time - (id === 0 ? clock.wallNanos() : clock.monotonicNanos())
}
