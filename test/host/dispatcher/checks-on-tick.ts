/** A clock on which a host checks the rights of its watches when the test says so, and not every ten seconds. */
import { expect } from "vitest"
import { type Clock, systemClock } from "../../../src/clock.ts"
import { eventually } from "../../harness/eventually.ts"

/** ms between the host's checks of its watches. */
const recheckMs = 10_000

export const checksOnTick = () => {
  const ticks: Array<() => void> = []
  const clock: Clock = {
    ...systemClock,
    after(delayMs, action) {
      if (delayMs !== recheckMs) return systemClock.after(delayMs, action)
      ticks.push(action)
      return { cancel: () => undefined }
    },
  }
  /** The time until the host's next check goes by. Resolves when it is done. */
  const tick = async (): Promise<void> => {
    await eventually(() => expect(ticks).toHaveLength(1))
    ticks.shift()?.()
    await eventually(() => expect(ticks).toHaveLength(1))
  }
  return { clock, tick }
}
