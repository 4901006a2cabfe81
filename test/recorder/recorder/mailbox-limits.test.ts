/** The data waiting for the store is bounded for the whole recorder, for any number of kinds. */
import fc from "fast-check"
import { expect, test } from "vitest"
import { MailboxShares, mailboxLimits } from "../../../src/recorder/recording/mailbox-limits.ts"

const mebibyte = 1024 * 1024

test("all mailboxes together hold at most 128 MiB up to 64 kinds, and 2 MiB a kind beyond", () => {
  for (let watchers = 0; watchers <= 200; watchers++) {
    const { windowBytes, bufferBytes } = mailboxLimits(watchers)
    expect(watchers * (windowBytes + bufferBytes)).toBeLessThanOrEqual(Math.max(128, 2 * watchers) * mebibyte)
    expect(Math.min(windowBytes, bufferBytes)).toBeGreaterThanOrEqual(mebibyte)
  }
})

test("a recorder of few kinds uses the default bounds of mailboxes", () => {
  for (let watchers = 0; watchers <= 4; watchers++) {
    expect(mailboxLimits(watchers)).toEqual({ windowBytes: 8 * mebibyte, bufferBytes: 16 * mebibyte })
  }
})

test("watchers that come, go and restart have at most 64 MiB of windows in total, but at least 1 MiB each", () => {
  const steps = fc.array(fc.record({ name: fc.nat(100), goes: fc.boolean() }), { maxLength: 300 })
  fc.assert(
    fc.property(steps, (changes) => {
      const shares = new MailboxShares()
      const held = new Map<number, { readonly windowBytes: number; readonly bufferBytes: number }>()
      for (const { name, goes } of changes) {
        if (goes) {
          shares.release(String(name))
          held.delete(name)
        } else {
          held.delete(name)
          held.set(name, shares.take(String(name), held.size + 1))
        }
        for (const pick of ["windowBytes", "bufferBytes"] as const) {
          const all = [...held.values()].map((limits) => limits[pick])
          const aboveSmallest = all.filter((bytes) => bytes > mebibyte).reduce((sum, bytes) => sum + bytes, 0)
          expect(aboveSmallest).toBeLessThanOrEqual(64 * mebibyte)
          expect(Math.min(mebibyte, ...all)).toBe(mebibyte)
        }
      }
    }),
  )
})

test("watchers that start together get even shares, and one that restarts among fewer gets more", () => {
  const shares = new MailboxShares()
  for (let name = 0; name < 32; name++) expect(shares.take(String(name), 32)).toEqual(mailboxLimits(32))
  for (let name = 4; name < 32; name++) shares.release(String(name))
  expect(shares.take("0", 4)).toEqual({ windowBytes: 8 * mebibyte, bufferBytes: 16 * mebibyte })
})
