/** How long a request may take: on a slow line as long as it moves, on a dead one not. */
import { expect, test } from "vitest"
import { within } from "../../../src/blob/requests/requests.ts"
import { ManualClock } from "../../runtime/manual-clock.ts"

const begun = () => {
  const clock = new ManualClock()
  let arrived = (): void => undefined
  let end = (): void => undefined
  const outcome = within(
    ...([clock, "the answer", 100_000, undefined] as const),
    (_, each) => {
      arrived = each
      return new Promise<string>((resolve) => {
        end = () => resolve("whole")
      })
    },
    10_000,
  )
  return { clock, outcome, arrived: () => arrived(), end: () => end() }
}

test("what arrives slowly is waited for", async () => {
  const { clock, outcome, arrived, end } = begun()
  for (let second = 0; second < 90; second += 9) {
    clock.advance(9000)
    arrived()
  }
  end()
  expect(await outcome).toBe("whole")
  expect(clock.pending).toBe(0)
})

test("what stops to arrive is given up", async () => {
  const { clock, outcome, arrived } = begun()
  clock.advance(9000)
  arrived()
  clock.advance(11_000)
  await expect(outcome).rejects.toMatchObject({
    name: "TimeoutError",
    message: "nothing of the answer arrived for 10 s",
  })
  expect(clock.pending).toBe(0)
})

test("what arrives too slowly is given up in the end", async () => {
  const { clock, outcome, arrived } = begun()
  for (let second = 0; second < 100; second += 5) {
    clock.advance(5000)
    arrived()
  }
  await expect(outcome).rejects.toMatchObject({ message: "the answer took longer than 100 s" })
  expect(clock.pending).toBe(0)
})
