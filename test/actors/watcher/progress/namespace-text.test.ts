/** How far namespaces are recorded, as the text that the store keeps. */
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import {
  formatNamespaces,
  isByNamespace,
  type NamespaceState,
  parseNamespaces,
  roomFor,
  tellsOfLives,
} from "../../../../src/actors/watcher/progress/namespace-text.ts"

const namespace = fc.stringMatching(/^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/)
const owes = fc.constantFrom<NamespaceState["owes"]>("", "first", "expired", "overload", "stopped", "cluster-restored")
const state = (version: fc.Arbitrary<string>): fc.Arbitrary<NamespaceState> =>
  fc.record({
    namespace,
    version,
    time: fc.option(fc.nat({ max: Number.MAX_SAFE_INTEGER }), { nil: undefined }),
    owes,
  })
const integer = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map(String)
const states = (version: fc.Arbitrary<string>) => fc.array(state(version), { minLength: 1, maxLength: 20 })

describe("the text of several namespaces", () => {
  test.each([
    ["integers", integer],
    ["nothing", fc.constant("")],
    ["any text", fc.string({ unit: "binary" }).filter((text) => text.isWellFormed())],
  ] as const)("says what it was made of, with %s as versions", (_, version) => {
    fc.assert(
      fc.property(states(version), fc.boolean(), (given, withLives) => {
        const text = formatNamespaces(given, withLives)
        expect(parseNamespaces(text)).toEqual(given)
        expect([isByNamespace(text), tellsOfLives(text)]).toEqual([true, withLives])
      }),
    )
  })

  test("fits the room that is kept for it", () => {
    fc.assert(
      fc.property(states(integer), fc.boolean(), (given, withLives) => {
        const room = roomFor(given.map((each) => each.namespace))
        expect(formatNamespaces(given, withLives).length).toBeLessThanOrEqual(room)
      }),
    )
  })

  test("is what is written in recordings", () => {
    const shop = { namespace: "shop", version: "812", time: undefined, owes: "" } as const
    const stock = { namespace: "stock", version: "790", time: undefined, owes: "" } as const
    expect(formatNamespaces([shop, stock])).toBe("namespaces:shop=812,stock=790")
    const later = [
      { ...shop, time: 1_763_740_000_000_000 },
      { ...stock, version: "", time: 5, owes: "first" },
    ] as const
    expect(formatNamespaces(later, true)).toBe("namespaces+lives:shop=812@1763740000000000,stock=@5!first")
  })

  test.each(["", "812", "namespaces", "namespace:shop=1"])(
    "is not a version of a kind that is watched as a whole: %j",
    (text) => {
      expect([isByNamespace(text), parseNamespaces(text)]).toEqual([false, undefined])
    },
  )

  test.each([
    "namespaces:",
    "namespaces:shop",
    "namespaces:=5",
    "namespaces:shop=5!because",
    "namespaces:shop=5@x",
    "namespaces:shop=5,,stock=6",
    "namespaces:shop=5=6",
  ])("that is damaged says nothing: %s", (text) => {
    expect(parseNamespaces(text)).toBeUndefined()
  })
})
