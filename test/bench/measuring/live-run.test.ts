/**
 * No change is called late that was received when it happened, by the truth of the sandbox: the short form of `bench/studies/live-stream.ts`, which runs for an hour.
 */
import { expect, test } from "vitest"
import { falselyLate, type LiveReport, liveCalm, liveDemo, liveStopped } from "../../../bench/measuring/live-run.ts"
import { exitCodes } from "../../../src/cli/command-line/exit-codes.ts"
import { patient } from "../../harness/patience.ts"

/** The demo has silences of 2 to 5 s, and repeats after 20 s. */
const minutes = 0.4
const limit = patient(minutes * 60_000 + 60_000)

/** A busy machine may keep a process waiting for seconds; then what it receives is late, and must not be called anything else. */
const expectNothingFalse = (report: LiveReport): void => {
  expect(falselyLate(report)).toEqual([])
  expect(report.exported.code, report.exported.messages).toBe(report.late.length === 0 ? 0 : exitCodes.incomplete)
}

test.concurrent("nothing is falsely late while the demo goes on and nothing fails", { timeout: limit }, async () => {
  const report = await liveDemo(minutes)
  expectNothingFalse(report)
  expect(report.events).toBeGreaterThan(100)
})

test.concurrent("nothing is falsely late with ten writes a minute", { timeout: limit }, async () => {
  const report = await liveCalm(minutes)
  expectNothingFalse(report)
  expect(report.events).toBeGreaterThan(5)
})

test.concurrent("what a recorder receives late that did not run for some seconds is late", {
  timeout: limit,
}, async () => {
  const report = await liveStopped()
  expect(report.late.map(({ gvk, delays }) => [gvk, delays.length])).toEqual([["v1.ConfigMap", 1]])
  expect(report.late[0]?.delays[0]).toBeGreaterThan(5)
  expect(report.exported.code).toBe(exitCodes.incomplete)
  expect(report.exported.messages).toContain("1 change of v1.ConfigMap between")
})
