/** Leases are files, so these tests use real ones; time is the tests' own. */
import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, expect, test } from "vitest"
import {
  expiryMs,
  heldLeases,
  LEASES,
  makeLeases,
  removeExpiredLeases,
  renewMs,
  takeLease,
} from "../../../src/archive/leases/lease.ts"
import { ManualClock } from "../../runtime/manual-clock.ts"

let directory: string
let clock: ManualClock
const held = () => heldLeases(directory, clock.wallMicros())

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "kubereel-lease-"))
  clock = new ManualClock()
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

test("a lease says who reads what, until it is released", () => {
  makeLeases(directory)
  const lease = takeLease(directory, { fromTime: 5, purpose: "export of 03:00..04:00" }, clock)
  expect(lease.isHeld).toBe(true)
  expect(held()).toMatchObject([{ fromTime: 5, purpose: "export of 03:00..04:00", pid: process.pid }])
  lease.release()
  lease.release()
  expect(held()).toEqual([])
  expect(readdirSync(join(directory, LEASES))).toEqual([])
})

test("a lease that is renewed lasts, and one whose holder has died expires", () => {
  makeLeases(directory)
  const lease = takeLease(directory, { fromTime: 0, purpose: "living" }, clock)
  const dead = new ManualClock()
  takeLease(directory, { fromTime: 0, purpose: "dead" }, dead)
  for (let passed = 0; passed < 3 * expiryMs; passed += renewMs) clock.advance(renewMs)
  expect(held().map(({ purpose }) => purpose)).toEqual(["living"])
  removeExpiredLeases(directory, clock.wallMicros())
  expect(readdirSync(join(directory, LEASES))).toHaveLength(1)
  lease.release()
})

test("an expired lease that was removed does not come back when its holder wakes up", () => {
  makeLeases(directory)
  takeLease(directory, { fromTime: 0, purpose: "asleep" }, clock)
  removeExpiredLeases(directory, clock.wallMicros() + 2 * expiryMs * 1000)
  clock.advance(renewMs)
  clock.advance(renewMs)
  expect(held()).toEqual([])
})

test("where nobody records, a reader writes nothing and holds no lease", () => {
  const lease = takeLease(directory, { fromTime: 0, purpose: "offline" }, clock)
  expect(lease.isHeld).toBe(false)
  expect(existsSync(join(directory, LEASES))).toBe(false)
  lease.release()
})

test("a directory of someone else is read without a lease", ({ skip }) => {
  if (process.getuid?.() === 0) skip("permissions do not bind root")
  makeLeases(directory)
  chmodSync(join(directory, LEASES), 0o500)
  expect(takeLease(directory, { fromTime: 0, purpose: "guest" }, clock).isHeld).toBe(false)
  chmodSync(join(directory, LEASES), 0o700)
})

test("a lease that cannot be read keeps everything", () => {
  makeLeases(directory)
  writeFileSync(join(directory, LEASES, "broken.json"), '{"fromTime":')
  expect(heldLeases(directory, Date.now() * 1000)).toMatchObject([{ fromTime: 0, purpose: "unknown" }])
})
