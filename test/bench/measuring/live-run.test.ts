/**
 * No change is called late that was received when it happened: the short form of `bench/studies/live-stream.ts`, which runs for an hour.
 */
import { test } from "vitest"
import { liveCalm, liveDemo } from "../../../bench/measuring/live-run.ts"
import { isThorough } from "../../harness/effort.ts"
import { patient } from "../../harness/patience.ts"

/** The demo has silences of 2 to 5 s, and repeats after 20 s. */
const minutes = isThorough() ? 1.2 : 0.4
const limit = patient(minutes * 60_000 + 60_000)

const nothingLate = { lateEvents: 0, lateRanges: [], exported: { code: 0 } }

test.concurrent("nothing is late while the demo goes on and nothing fails", { timeout: limit }, async ({ expect }) => {
  const report = await liveDemo(minutes)
  expect(report).toMatchObject(nothingLate)
  expect(report.events).toBeGreaterThan(300)
})

test.concurrent("nothing is late with ten writes a minute", { timeout: limit }, async ({ expect }) => {
  const report = await liveCalm(minutes)
  expect(report).toMatchObject(nothingLate)
  expect(report.events).toBeGreaterThan(5)
})

test.concurrent("a recorder that did not run for some seconds would be noticed", { timeout: limit }, async ({
  expect,
}) => {
  const { lateEvents, lateRanges, exported } = await liveDemo(0.3, { stoppedMs: 6000 })
  expect(lateEvents).toBeGreaterThan(0)
  expect(lateRanges.length).toBeGreaterThan(0)
  expect(exported.messages).toContain("received later than they happened")
  expect(exported.code).not.toBe(0)
})
