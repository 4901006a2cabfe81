/** States on disk: whatever is added is read as it was, in any order, while more is added; and filters mean what their parts say. */
import fc from "fast-check"
import { expect, test } from "vitest"
import { passes, readFilter } from "../../../../src/cli/inspect/screen/event-filter.ts"
import type { ListedObject } from "../../../../src/cli/inspect/screen/event-list.ts"
import { PackedStates } from "../../../../src/cli/inspect/screen/packed-states.ts"
import { memorySpool } from "../../../../src/trace/index.ts"

test("every state is read as it was added, in any order, also while more is added", () => {
  // Some states fill a piece alone, so that there are several.
  const state = fc.tuple(fc.uint8Array({ maxLength: 50 }), fc.constantFrom(1, 1, 20_000))
  fc.assert(
    fc.property(fc.array(state, { maxLength: 30 }), fc.array(fc.nat(), { maxLength: 30 }), (given, order) => {
      using states = new PackedStates(memorySpool())
      const added: Array<readonly [place: ReturnType<typeof states.add>, bytes: Buffer]> = []
      for (const [index, [part, times]] of given.entries()) {
        const bytes = Buffer.concat(Array.from({ length: times }, () => part))
        added.push([states.add(bytes), bytes])
        const [place, expected] = added[(order[index] ?? 0) % added.length] ?? [states.add(bytes), bytes]
        expect(states.read(place).equals(expected)).toBe(true)
      }
      for (const [place, bytes] of added) expect(states.read(place).equals(bytes)).toBe(true)
    }),
    { numRuns: 30 },
  )
})

const web: ListedObject = { gvk: "apps/v1.Deployment", namespace: "shop", name: "web-api", owners: [] }

test.each([
  ["", true],
  ["kind=deployment", true],
  ["k=Deployments ns=shop", true],
  ["kind=apps/v1.deployment", true],
  ["kind=deploy", true],
  ["kind=deployments.apps", true],
  ["kind=dep*", true],
  ["kind=dep", false],
  ["kind=po", false],
  ["name=web", false],
  ["name=web*", true],
  ["name=*-api n=sh*p", true],
  ["name=w*b*api", true],
  ["name=web-api*api", false],
  ["!ns=shop", false],
  ["!name=*test", true],
  ["SHOP/web", true],
  ["web absent", false],
  ["what=web", false],
  ["!", true],
])("the filter %j passes apps/v1.Deployment shop/web-api: %s", (text, isPassed) => {
  expect(passes(readFilter(text), web)).toBe(isPassed)
})

test("any text is a filter", () => {
  fc.assert(fc.property(fc.string(), (text) => typeof passes(readFilter(text), web) === "boolean"))
})
