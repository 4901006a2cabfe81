/** The store as seen from another thread: when it counts as silent, and when it does not. */
import { expect, test } from "vitest"
import { askEveryMs, StoreWatch, silentAfterMs } from "../../../src/recorder/recording/recorded-store.ts"
import { ManualClock } from "../../runtime/manual-clock.ts"

const place = () => {
  const clock = new ManualClock()
  const said: (string | undefined)[] = []
  const answers: ((figures: { syncingMs: number } | undefined) => void)[] = []
  const watch = new StoreWatch<{ syncingMs: number }>({
    clock,
    ask: () => new Promise((resolve) => answers.push(resolve)),
    onChange: (trouble) => void said.push(trouble),
  })
  const answer = async (syncingMs = 0): Promise<void> => {
    answers.shift()?.({ syncingMs })
    // An answer passes some promises.
    for (let turn = 0; turn < 10; turn++) await Promise.resolve()
  }
  watch.start()
  return { clock, said, answers, watch, answer }
}

test("a store that answers is asked every second, one question at a time", async () => {
  const { clock, said, answers, watch, answer } = place()
  for (let second = 0; second < 10; second++) {
    expect(answers).toHaveLength(1)
    await answer()
    expect(watch.ageMs).toBe(0)
    clock.advance(askEveryMs)
  }
  expect(said).toEqual([])
})

test("one that does not is reported once, within five seconds, and again when it answers", async () => {
  const { clock, said, watch, answer } = place()
  await answer()
  clock.advance(silentAfterMs - 1)
  expect(said).toEqual([])
  clock.advance(askEveryMs)
  expect(said).toEqual(["the store does not respond, as when its disk hangs."])
  clock.advance(60_000)
  expect(said).toHaveLength(1)
  expect([watch.ageMs, watch.last]).toEqual([silentAfterMs - 1 + askEveryMs + 60_000, { syncingMs: 0 }])
  await answer()
  expect(said).toEqual(["the store does not respond, as when its disk hangs.", undefined])
})

test("a sync that does not end is reported although the store answers", async () => {
  const { clock, said, answer } = place()
  await answer()
  clock.advance(askEveryMs)
  await answer(silentAfterMs)
  expect(said).toEqual(["the disk does not finish a sync."])
  clock.advance(askEveryMs)
  await answer()
  expect(said).toEqual(["the disk does not finish a sync.", undefined])
})

test("a new life of the store counts as an answer, and what the one before said does not concern it", async () => {
  const { clock, said, watch, answer } = place()
  await answer(silentAfterMs)
  watch.began()
  expect(said).toEqual(["the disk does not finish a sync.", undefined])
  expect([watch.ageMs, watch.last]).toEqual([0, undefined])
  clock.advance(silentAfterMs - askEveryMs)
  watch.began()
  clock.advance(silentAfterMs - askEveryMs)
  expect(said).toHaveLength(2)
})

test("after it was stopped nothing is asked or reported", async () => {
  const { clock, said, answers, watch, answer } = place()
  await answer()
  watch.stop()
  clock.advance(60_000)
  expect([answers.length, said, clock.pending]).toEqual([0, [], 0])
})
