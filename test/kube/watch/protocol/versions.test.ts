/** Which events are old, for servers with integer versions and for others. */
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { parseResourceVersion } from "../../../../src/kube/resource-version.ts"
import { DeliveredVersions } from "../../../../src/kube/watch/protocol/versions.ts"

/** As a session passes on a version from a stream. */
const take = (versions: DeliveredVersions, text: string): boolean => {
  const version = parseResourceVersion(text)
  return version === undefined ? versions.takeUnseen(text) : versions.takeNewer(version)
}

describe("integer versions", () => {
  test("are new only when they are above all previous ones", () => {
    const version = fc.oneof(fc.nat(50), fc.bigInt({ min: 2n ** 53n - 5n, max: 2n ** 53n + 5n }))
    fc.assert(
      fc.property(fc.array(version), (given) => {
        const versions = new DeliveredVersions()
        let highest = -1n
        for (const each of given.map(BigInt)) {
          expect(take(versions, String(each))).toBe(each > highest)
          if (each > highest) highest = each
          expect(versions.text).toBe(String(highest))
        }
      }),
    )
  })

  test("that a bookmark or list has passed are old; a bookmark never moves back", () => {
    const versions = new DeliveredVersions()
    versions.reset("100")
    expect(take(versions, "100")).toBe(false)
    versions.reach("150")
    versions.reach("120")
    expect([take(versions, "150"), versions.text, take(versions, "151")]).toEqual([false, "150", true])
  })

  test("of another history may start lower", () => {
    const versions = new DeliveredVersions()
    versions.reset("100")
    versions.reset(undefined)
    expect(versions.text).toBeUndefined()
    expect([take(versions, "5"), versions.text]).toEqual([true, "5"])
  })
})

describe("opaque versions", () => {
  test("are new once each, whatever they look like", () => {
    const version = fc.string({ unit: fc.constantFrom("0", "1", "a"), minLength: 1, maxLength: 3 })
    fc.assert(
      fc.property(fc.array(version), (given) => {
        const versions = new DeliveredVersions()
        versions.reset("list-version")
        const seen = new Set<string>()
        let last = "list-version"
        // Reading it as an integer would lose a leading zero; no server is known to write one.
        for (const text of given.filter((each) => !/^0./.test(each))) {
          expect(take(versions, text)).toBe(!seen.has(text))
          if (!seen.has(text)) last = text
          seen.add(text)
          expect(versions.text).toBe(last)
        }
      }),
    )
  })

  test("the last new one is where to resume, not a repeated one", () => {
    const versions = new DeliveredVersions()
    versions.reset("start")
    for (const version of ["a", "b", "c"]) expect(take(versions, version)).toBe(true)
    for (const version of ["a", "b", "c"]) expect(take(versions, version)).toBe(false)
    expect(versions.text).toBe("c")
  })

  test("a bookmark at a version passed long ago does not move back, one at an unknown version moves there", () => {
    const versions = new DeliveredVersions()
    versions.reset("start")
    take(versions, "a")
    take(versions, "b")
    versions.reach("a")
    expect(versions.text).toBe("b")
    versions.reach("later")
    expect(versions.text).toBe("later")
  })

  test("one that looks like an integer is treated as opaque", () => {
    const versions = new DeliveredVersions()
    versions.reset("start")
    expect(["900", "e1", "100", "900", "100"].map((version) => take(versions, version))).toEqual([
      true,
      true,
      true,
      false,
      false,
    ])
    versions.reach("7")
    expect(versions.text).toBe("7")
    versions.reset("50")
    expect([take(versions, "8"), versions.text]).toEqual([true, "8"])
  })

  test("are remembered for 16,384 events, and memory is bounded", () => {
    const versions = new DeliveredVersions()
    versions.reset("start")
    for (let index = 0; index < 16_384; index++) take(versions, `v${index}`)
    expect(take(versions, "v0")).toBe(false)
    take(versions, "one more")
    expect(take(versions, "v0")).toBe(true)
    expect(take(versions, "v16383")).toBe(false)
  })
})
