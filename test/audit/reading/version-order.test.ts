import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { factsOf } from "../../../src/audit/lives/object-facts.ts"
import { VersionOrder } from "../../../src/audit/reading/reorder-window.ts"
import type { AuditedWrite } from "../../../src/audit/shapes/audited-write.ts"
import { entriesIn } from "../../../src/audit/shapes/log-entries.ts"
import { auditEvent, begin, configMap } from "../audit-events.ts"

const write = (seconds: number, uid: string, version: number): AuditedWrite => {
  const [entry] = entriesIn(auditEvent({ at: seconds, response: configMap(version, {}, { uid }) }))
  if (entry?.tag !== "write") throw new Error("no write")
  return entry.write
}

type Given = readonly [seconds: number, uid: string, version: number]

const ordered = (given: ReadonlyArray<Given>): ReadonlyArray<Given> => {
  const order = new VersionOrder()
  const taken = given.flatMap((each) => {
    order.push(write(...each))
    return [...order.ready()]
  })
  return [...taken, ...order.ready(true)].map(({ time, response }) => {
    const { uid, resourceVersion } = factsOf(response ?? {})
    return [(time - begin) / 1_000_000, uid, Number(resourceVersion)]
  })
}

describe("writes of one object", () => {
  test("within a second come in the order of its versions, at the times that there are", () => {
    expect(
      ordered([
        [0, "a", 5],
        [0.1, "b", 9],
        [0.2, "a", 3],
        [0.3, "a", 4],
        [9, "b", 10],
      ]),
    ).toEqual([
      [0, "a", 3],
      [0.1, "b", 9],
      [0.2, "a", 4],
      [0.3, "a", 5],
      [9, "b", 10],
    ])
  })

  test("further apart stay as they are", () => {
    const given: ReadonlyArray<Given> = [
      [0, "a", 5],
      [2, "a", 3],
    ]
    expect(ordered(given)).toEqual(given)
  })

  test("stay the same writes, each object's in order if they are all within a second, at the same times", () => {
    const step = fc.tuple(fc.constantFrom("a", "b", "c"), fc.integer({ min: 1, max: 50 }))
    fc.assert(
      fc.property(fc.array(step, { maxLength: 100, size: "max" }), (steps) => {
        const given = steps.map(([uid, version], index): Given => [index / 200, uid, version])
        const result = ordered(given)
        expect(result.map(([seconds]) => seconds)).toEqual(given.map(([seconds]) => seconds))
        for (const each of ["a", "b", "c"]) {
          const versions = (all: ReadonlyArray<Given>) =>
            all.flatMap(([, uid, version]) => (uid === each ? [version] : []))
          expect(versions(result)).toEqual(versions(given).toSorted((one, other) => one - other))
        }
      }),
    )
  })

  test("are all there, however far they are apart and however many they are", () => {
    const given = Array.from({ length: 10_000 }, (_, index): Given => [index / 3000, "a", (index * 7919) % 10_000])
    expect(
      ordered(given)
        .map(([, , version]) => version)
        .toSorted((one, other) => one - other),
    ).toEqual(Array.from({ length: 10_000 }, (_, index) => index))
  })
})
