import fc from "fast-check"
import { expect, test } from "vitest"
import { type Finding, FindingTracker, type Health, tones } from "../../src/timeline/index.ts"

const second = 1_000_000
const object = { gvk: "v1.Pod", namespace: "shop", name: "web", uid: "u" }
const good: Health = { tone: tones.good }
const crash = (restarts: number): Health => ({
  ...{ tone: tones.bad, restarts },
  wrong: { code: "crash-loop", message: `back-off ${restarts}` },
})
const found = (states: ReadonlyArray<readonly [number, Health | undefined, true?]>, until: number): Finding[] => {
  const findings: Finding[] = []
  const tracker = new FindingTracker((finding) => findings.push(finding))
  for (const [at, health, isFirst = false] of states)
    tracker.observe({ lane: "a", object, time: at * second, health, isFirst })
  tracker.finish(until * second)
  return findings
}

test("a container that crashes and runs in turn is one finding, which counts its restarts in the window", () => {
  const states = [
    [0, { ...good, restarts: 3 }, true],
    [1, crash(4)],
    [10, { ...good, restarts: 5 }],
    [20, crash(5)],
    [30, { ...good, restarts: 6 }],
  ] as const
  const finding = { code: "crash-loop", from: second, to: 30 * second, message: "back-off 5", count: 3 }
  expect(found(states, 40)).toEqual([expect.objectContaining({ ...finding, lane: "a", object })])
})

test("after ten quiet minutes it is another finding; what is still so has no end; a deletion ends it", () => {
  const states = [
    [1, crash(0)],
    [2, good],
    [700, crash(1)],
  ] as const
  expect(found(states, 800).map(({ from, to }) => [from, to])).toEqual([
    [second, 2 * second],
    [700 * second, undefined],
  ])
  expect(found([...states, [750, undefined]], 800).at(-1)?.to).toBe(750 * second)
})

test("a restart that no state shows is a finding by how the run before failed", () => {
  const failedBefore = { code: "out-of-memory", message: "main: Terminated: OOMKilled (137)" } as const
  const states = [
    [0, good, true],
    [5, { ...good, restarts: 1, failedBefore }],
  ] as const
  expect(found(states, 9)).toMatchObject([{ code: "out-of-memory", from: 5 * second, to: 5 * second, count: 1 }])
})

test("replicas that are missing for a moment are part of a roll-out, and for a minute a finding", () => {
  const missing: Health = { tone: tones.waiting, wrong: { code: "replicas-missing", message: "1 of 2" } }
  expect(
    found(
      [
        [1, missing],
        [50, good],
      ],
      100,
    ),
  ).toEqual([])
  expect(
    found(
      [
        [1, missing],
        [62, good],
      ],
      100,
    ),
  ).toMatchObject([{ from: second, to: 62 * second }])
  expect(found([[1, missing]], 61)).toMatchObject([{ code: "replicas-missing" }])
})

test("findings of one object do not overlap, lie in the window, and every wrong state is in one", () => {
  const code = fc.constantFrom("crash-loop" as const, "failed-pod" as const)
  const health = fc.option(
    fc
      .record({ isWrong: fc.boolean(), code, restarts: fc.nat(5) })
      .map(
        ({ isWrong, code, restarts }): Health =>
          isWrong ? { tone: tones.bad, restarts, wrong: { code, message: "" } } : { tone: tones.good, restarts },
      ),
    { nil: undefined },
  )
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.integer({ min: 0, max: 900 }), health), { maxLength: 20 }), (steps) => {
      let at = 0
      const states = steps.map(([step, health]) => {
        at += step
        return [at, health] as const
      })
      const findings = found(states, at)
      for (const [index, { from, to = at * second }] of findings.entries()) {
        expect(from).toBeLessThanOrEqual(to)
        expect(from).toBeGreaterThanOrEqual(findings[index - 1]?.to ?? 0)
      }
      for (const [time, health] of states) {
        const code = health?.wrong?.code
        if (code === undefined) continue
        const isIn = ({ from, to = at * second }: Finding) => from <= time * second && time * second <= to
        expect(findings.some((finding) => finding.code === code && isIn(finding))).toBe(true)
      }
    }),
  )
})

test("no more objects are followed than it may: the first is given up with what is known", () => {
  const findings: Finding[] = []
  const tracker = new FindingTracker((finding) => findings.push(finding), 2)
  for (const lane of ["a", "b", "c"]) tracker.observe({ lane, object, time: 5, health: crash(0) })
  expect(findings.map(({ lane, to }) => [lane, to])).toEqual([["a", 5]])
})
