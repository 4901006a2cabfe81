/** What waits for the store is bounded for the whole recorder, whatever the number of kinds. */
import { expect, test } from "vitest"
import { mailboxLimits } from "../../../src/tracer/mailbox-limits.ts"

const mebibyte = 1024 * 1024

test("all mailboxes together hold at most 128 MiB up to 64 kinds, and 2 MiB a kind beyond", () => {
  for (let watchers = 0; watchers <= 200; watchers++) {
    const { windowBytes, bufferBytes } = mailboxLimits(watchers)
    expect(watchers * (windowBytes + bufferBytes)).toBeLessThanOrEqual(Math.max(128, 2 * watchers) * mebibyte)
    expect(Math.min(windowBytes, bufferBytes)).toBeGreaterThanOrEqual(mebibyte)
  }
})

test("a recorder of few kinds has the bounds that mailboxes have by themselves", () => {
  for (let watchers = 0; watchers <= 4; watchers++) {
    expect(mailboxLimits(watchers)).toEqual({ windowBytes: 8 * mebibyte, bufferBytes: 16 * mebibyte })
  }
})
