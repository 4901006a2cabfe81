/** The beats of a thread that is busy, seen by another one over shared memory. */
import { expect, onTestFinished, test } from "vitest"
import { EntryMark, EntryWatch, entryMarkBytes } from "../../../../src/host/dispatcher/worker/entry-mark.ts"
import { unresponsiveMs } from "../../../../src/host/scripts/script-place.ts"
import { beatMs, Pulse } from "../../../../src/host/scripts/thread/script-thread-actor.ts"
import { ManualClock } from "../../../runtime/manual-clock.ts"
import { until } from "../../../runtime/until.ts"

const start = () => {
  const memory = new SharedArrayBuffer(entryMarkBytes)
  const [ours, theirs] = [new ManualClock(), new ManualClock()]
  const pulse = new Pulse(new EntryMark(memory), ours)
  let overruns = 0
  const watch = new EntryWatch(memory, { clock: theirs, deadlineMs: () => unresponsiveMs, onOverrun: () => overruns++ })
  onTestFinished(() => watch.stop())
  return { ours, theirs, pulse, overruns: () => overruns }
}

test("A thread that is busy for long and beats does not count as stuck; one that does not beat does", async () => {
  const { ours, theirs, pulse, overruns } = start()
  const ended = pulse.begin()
  await until(() => theirs.pending > 0)
  for (let second = 0; second < 60; second++) {
    ours.advance(beatMs)
    theirs.advance(beatMs)
  }
  expect(overruns()).toBe(0)
  theirs.advance(unresponsiveMs + 250)
  expect(overruns()).toBe(1)
  ended()
})

test("A thread with nothing to do has no timer and is not looked at", async () => {
  const { ours, theirs, pulse, overruns } = start()
  expect([ours.pending, theirs.pending]).toEqual([0, 0])
  const first = pulse.begin()
  const second = pulse.begin()
  await until(() => theirs.pending > 0)
  first()
  ours.advance(beatMs)
  expect(ours.pending).toBe(1)
  second()
  // The last beat notices it.
  ours.advance(beatMs)
  expect(ours.pending).toBe(0)
  theirs.advance(60_000)
  expect([theirs.pending, overruns()]).toEqual([0, 0])
  pulse.begin()
  await until(() => theirs.pending > 0)
  pulse.stop()
  expect(ours.pending).toBe(0)
  theirs.advance(60_000)
  expect([theirs.pending, overruns()]).toEqual([0, 0])
})
