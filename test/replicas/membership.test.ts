/** Who is alive, and when that counts, on a clock of the test. */
import fc from "fast-check"
import { expect, test } from "vitest"
import { abandoned, afterList, type Membership, noMembership } from "../../src/replicas/membership.ts"

const times = { settleMs: 10_000, longestMs: 40_000 }
const durationMs = 15_000

/** Lists every second. `renewals`: of each replica at a second; `undefined`: it has no Lease. */
const after = (
  seconds: number,
  renewals: (second: number) => Readonly<Record<string, number | undefined>>,
  from: Membership = noMembership,
  start = 0,
): Membership => {
  let membership = from
  for (let second = start; second <= start + seconds; second++) {
    const leases = Object.entries(renewals(second)).flatMap(([name, renewal]) =>
      renewal === undefined ? [] : [{ name, renewal: String(renewal), durationMs }],
    )
    membership = afterList(membership, leases, second * 1000, "a", times)
  }
  return membership
}

test("members count once they have not changed for the time to settle", () => {
  expect(after(9, (second) => ({ a: second, b: second })).members).toBeUndefined()
  expect(after(10, (second) => ({ a: second, b: second })).members).toEqual(["a", "b"])
  expect(after(18, (second) => ({ a: second, b: second < 9 ? undefined : second })).members).toBeUndefined()
})

test("a replica whose Lease is not renewed is no member after the duration and the time to settle, whatever its times say", () => {
  const renewals = (second: number) => ({ a: second, b: Math.min(second, 20) })
  expect(after(45, renewals).members).toEqual(["a", "b"])
  expect(after(46, renewals).members).toEqual(["a"])
})

test("one that is back under its name before that moves nothing", () => {
  const renewals = (second: number) => ({ a: second, b: second >= 20 && second < 29 ? undefined : second })
  for (let seconds = 11; seconds < 60; seconds++) expect(after(seconds, renewals).members).toEqual(["a", "b"])
})

test("one that comes and goes for ever does not keep another one's shards from moving", () => {
  const renewals = (second: number) => ({
    a: second,
    b: second < 20 ? second : undefined,
    c: second < 20 || second % 8 < 4 ? second : undefined,
  })
  expect(after(70, renewals).members).not.toContain("b")
})

test("a Lease that nobody renews for long may be removed, and only such a one", () => {
  const membership = after(400, (second) => ({ a: second, b: 1, c: second < 395 ? 1 : second }))
  expect(abandoned(membership, 400_000)).toEqual(["b"])
})

test("this replica is always a member, and members are those that were alive for the time to settle", () => {
  const anyPresence = fc.array(fc.record({ b: fc.boolean(), c: fc.boolean() }), { minLength: 12, maxLength: 60 })
  fc.assert(
    fc.property(anyPresence, (presence) => {
      const at = (second: number) => ({
        a: undefined,
        b: presence[second]?.b === true ? second : undefined,
        c: presence[second]?.c === true ? second : undefined,
      })
      let membership = noMembership
      for (let second = 0; second < presence.length; second++) {
        membership = after(0, at, membership, second)
        expect(membership.alive).toContain("a")
        if (membership.members !== undefined) expect(membership.members).toContain("a")
        const last = presence.slice(Math.max(0, second - 10), second + 1)
        const isCalm = second >= 10 && last.every(({ b, c }) => b === last[0]?.b && c === last[0]?.c)
        if (isCalm) expect(membership.members).toEqual(membership.alive)
      }
    }),
  )
})
