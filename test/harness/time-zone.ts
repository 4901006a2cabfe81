/** The time zone of tests about times of day. */
import { afterEach, beforeEach } from "vitest"

/** Every test of the file runs as on a machine in this time zone. */
export const inTimeZone = (zone: string): void => {
  let before: string | undefined
  beforeEach(() => {
    before = process.env.TZ
    process.env.TZ = zone
  })
  afterEach(() => {
    if (before === undefined) delete process.env.TZ
    else process.env.TZ = before
  })
}
