/** What clients get of the thread that receives their requests. */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import { expect, test } from "vitest"
import {
  type BodyPlace,
  BodyShares,
  maximumBodies,
  maximumBodiesPerClient,
} from "../../../../src/recorder/http/body/body-shares.ts"
import { ManualClock } from "../../../runtime/manual-clock.ts"

const entered = (shares: BodyShares, client: string): BodyPlace => {
  const place = shares.enter(client)
  if (place === undefined) throw new Error("no place")
  return place
}

const mebibyte = 1024 * 1024
const present = Effect.never

/** Whether each of these promises has resolved. */
const settled = async (promises: ReadonlyArray<Promise<void>>): Promise<ReadonlyArray<boolean>> => {
  const states = promises.map(() => false)
  for (const [index, promise] of promises.entries()) void promise.then(() => (states[index] = true))
  await new Promise((resolve) => setImmediate(resolve))
  return states
}

test("a client may send four bodies at once, and all clients sixteen", () => {
  const shares = new BodyShares(new ManualClock())
  const held = Array.from({ length: maximumBodiesPerClient }, () => entered(shares, "a"))
  expect(shares.enter("a")).toBeUndefined()
  for (let other = maximumBodiesPerClient; other < maximumBodies; other++) entered(shares, `b${other}`)
  expect(shares.enter("c")).toBeUndefined()
  held[0]?.leave()
  entered(shares, "c")
  expect(shares.enter("d")).toBeUndefined()
})

test("one large body is not delayed; a flood is, in the order of arrival, and delays nobody else", async () => {
  const clock = new ManualClock()
  const shares = new BodyShares(clock)
  const flood = entered(shares, "flood")
  const turns = [5 * mebibyte, mebibyte, mebibyte].map((bytes) => flood.turn(bytes, present))
  expect(await settled(turns)).toEqual([true, false, false])
  expect(await settled([entered(shares, "other").turn(mebibyte, present)])).toEqual([true])
  // One of the five mebibytes is more than the burst, at 4 KiB/ms.
  clock.advance(255)
  expect(await settled(turns)).toEqual([true, false, false])
  clock.advance(1)
  expect(await settled(turns)).toEqual([true, true, false])
  clock.advance(256)
  expect(await settled(turns)).toEqual([true, true, true])
  expect(clock.pending).toBe(0)
})

test("a client that leaves is not waited for, and what it cost stays on its account", async () => {
  const clock = new ManualClock()
  const shares = new BodyShares(clock)
  const leaving = Deferred.makeUnsafe<void>()
  const place = entered(shares, "a")
  const turns = [place.turn(5 * mebibyte, present), place.turn(mebibyte, Deferred.await(leaving))]
  expect(await settled(turns)).toEqual([true, false])
  Deferred.doneUnsafe(leaving, Effect.void)
  expect(await settled(turns)).toEqual([true, true])
  expect(clock.pending).toBe(0)
  place.leave()
  const next = [entered(shares, "a").turn(1, present)]
  expect(await settled(next)).toEqual([false])
  clock.advance(512)
  expect(await settled(next)).toEqual([true])
})

test("after a while of rest a client has its whole burst again", async () => {
  const clock = new ManualClock()
  const place = entered(new BodyShares(clock), "a")
  await place.turn(8 * mebibyte, present)
  clock.advance(2048)
  const turns = [place.turn(4 * mebibyte, present), place.turn(1, present), place.turn(1, present)]
  expect(await settled(turns)).toEqual([true, true, false])
})

test("thousands of clients are not remembered for ever, but those that owe are", async () => {
  const clock = new ManualClock()
  const shares = new BodyShares(clock)
  const debtor = entered(shares, "debtor")
  await debtor.turn(64 * mebibyte, present)
  debtor.leave()
  for (let client = 0; client < 5000; client++) {
    const place = entered(shares, `client-${client}`)
    await place.turn(1, present)
    place.leave()
    clock.advance(1)
  }
  expect(shares.remembered).toBeLessThanOrEqual(1001)
  expect(await settled([entered(shares, "debtor").turn(1, present)])).toEqual([false])
})
