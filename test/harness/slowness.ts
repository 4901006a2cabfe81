/**
 * How many times slower this machine is now than one of those on which times were measured: a fixed computation of some 0.3 s there, in wall-clock time, so
 * that processors which others use count as slow ones.
 *
 *   node test/harness/slowness.ts     prints it
 */
import { createHash } from "node:crypto"

/** ms that a turn takes on two idle cores (AMD EPYC and Intel Xeon of 2025, Node 26). */
const usualMs = 120
/** Beyond this a limit would only hide a program that hangs. */
const largest = 10

/** What the tests mostly do: JSON, short-lived objects, hashes. Returns the ms that it took. */
const turn = (): number => {
  const startedMs = performance.now()
  const hash = createHash("sha256")
  for (let number = 0; number < 20_000; number++) {
    const labels = { app: "web", number: String(number) }
    const text = JSON.stringify({ metadata: { name: `pod-${number}`, labels }, spec: { containers: [{ image: "i" }] } })
    hash.update(JSON.stringify(JSON.parse(text)))
  }
  hash.digest()
  return performance.now() - startedMs
}

/** From the ms of some turns: 1 for a machine that is as fast as usual, or faster; 10 at most. The median, as others interrupt any of them. */
export const slownessOf = (turns: ReadonlyArray<number>): number => {
  const median = turns.toSorted((one, other) => one - other)[Math.floor(turns.length / 2)] ?? usualMs
  return Math.min(Math.max(1, Math.round((median / usualMs) * 10) / 10), largest)
}

/** Measures it, which takes the usual 0.3 s as many times as the machine is slower. */
export const measuredSlowness = (): number => slownessOf([turn(), turn(), turn()])

if (import.meta.main) console.log(measuredSlowness())
