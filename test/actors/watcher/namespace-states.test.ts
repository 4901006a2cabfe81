/** The state of a kind whose namespaces are watched separately. */
import fc from "fast-check"
import { expect, test } from "vitest"
import { combinedState, NamespaceStates } from "../../../src/actors/watcher/namespace-states.ts"
import type { KindState } from "../../../src/kube/index.ts"

const statesOf = (...given: ReadonlyArray<readonly [namespace: string, state: KindState, detail: string]>) => {
  const states = new NamespaceStates()
  for (const each of given) states.set(...each)
  return states
}

test("if all are watched, so is the kind, with its version", () => {
  const states = statesOf(["shop", "watching", "from version 5"], ["stock", "watching", "from version 6"])
  expect(combinedState(states.all())).toEqual({
    state: "watching",
    detail: "shop from version 5, stock from version 6",
  })
})

test("the worst one is named first, then the others, then how many are healthy", () => {
  const states = statesOf(
    ["a", "watching", "from version 5"],
    ["b", "failing", "watch: HTTP 500"],
    ["c", "forbidden", "list: HTTP 403"],
    ["d", "watching", "from version 6"],
  )
  expect(combinedState(states.all())).toEqual({
    state: "forbidden",
    detail:
      "namespace c forbidden: list: HTTP 403; namespace b failing: watch: HTTP 500; 2 of 4 namespaces are watched",
  })
})

test("of hundreds only the first are named", () => {
  const states = new NamespaceStates()
  for (let index = 0; index < 300; index++) states.set(`n-${index}`, "forbidden", "no")
  const { detail } = combinedState(states.all())
  expect(detail).toMatch(/^namespace n-0 forbidden: no; .*; and 295 more$/)
  for (let index = 0; index < 300; index++) states.set(`n-${index}`, "watching", "from version 1")
  expect(combinedState(states.all()).detail).toBe("300 namespaces")
})

const state = fc.constantFrom<KindState>("listing", "watching", "waiting", "forbidden", "failing", "stopped")

test("the kind is watched if all are, listing if any is, and never in a state that none of them is in", () => {
  fc.assert(
    fc.property(fc.array(state, { minLength: 1, maxLength: 12 }), (given) => {
      const states = statesOf(...given.map((each, index) => [`n-${index}`, each, "detail"] as const))
      const combined = combinedState(states.all()).state
      expect(given).toContain(combined)
      expect(combined === "watching").toBe(given.every((each) => each === "watching"))
      if (given.includes("listing")) expect(combined).toBe("listing")
    }),
  )
})
