/** The share of time that passes within a module, over a sliding window. */
import { expect, test } from "vitest"
import { addBusyTime, BusyWindow, busyMemory } from "../../../../src/host/dispatcher/placing/busy-time.ts"

test("the share is that of the last seconds, and is not full before", () => {
  const memory = busyMemory()
  addBusyTime(memory, 700)
  const busy = new BusyWindow(memory, 5000)
  busy.sample(0)
  expect([busy.share, busy.isFull]).toEqual([0, false])
  for (let second = 1; second <= 5; second++) {
    addBusyTime(memory, 500)
    busy.sample(second * 1000)
    expect(busy.share).toBeCloseTo(0.5)
  }
  expect(busy.isFull).toBe(true)
  for (let second = 6; second <= 10; second++) busy.sample(second * 1000)
  expect(busy.share).toBe(0)
})

test("a call that began before the window does not make more of it than there is", () => {
  const memory = busyMemory()
  const busy = new BusyWindow(memory, 1000)
  busy.sample(0)
  addBusyTime(memory, 8000)
  busy.sample(1000)
  expect(busy.share).toBe(1)
})

test("a counter that wraps around goes on", () => {
  const memory = busyMemory()
  new Int32Array(memory)[0] = 2 ** 31 - 1000
  const busy = new BusyWindow(memory, 1000)
  busy.sample(0)
  addBusyTime(memory, 250)
  busy.sample(1000)
  expect(busy.share).toBeCloseTo(0.25)
})
