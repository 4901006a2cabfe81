/** A link and what it says: browsers, chats and tickets carry it, and anyone may write one. */

import fc from "fast-check"
import { expect, test } from "vitest"
import { linkedState, linkOf } from "../../../src/ui/state/permalink.ts"
import { firstState } from "../../../src/ui/state/state.ts"
import { timeText } from "../../../src/ui/text/instants.ts"

const time = fc.integer({ min: 1, max: 4_000_000_000_000_000 })
const text = fc.string({ unit: "grapheme", minLength: 1, maxLength: 20 })
const linked = fc.record(
  {
    cluster: text,
    window: fc.tuple(time, fc.integer({ min: 1, max: 1e12 })).map(([from, length]) => ({ from, to: from + length })),
    filter: fc.record(
      { kinds: fc.array(text, { minLength: 1 }), namespace: fc.string(), find: text },
      { requiredKeys: [] },
    ),
    selection: fc.record({ gvk: text, namespace: fc.string({ unit: "grapheme" }), name: text, uid: fc.string() }),
    cursor: time,
    other: time,
    pane: fc.constantFrom("none", "object", "findings", "differences"),
  },
  { requiredKeys: ["window", "filter", "pane"] },
)

test("a link says what was looked at", () => {
  fc.assert(
    fc.property(linked, ({ selection, ...others }) => {
      const state = { ...firstState, ...others, ...(selection && { selection: { object: selection } }) }
      expect(linkedState(`#${linkOf(state)}`)).toEqual({ ...others, ...(selection && { selection }) })
    }),
  )
})

test("an object's kind and name can be read in its link", () => {
  const object = { gvk: "apps/v1.Deployment", namespace: "shop", name: "web", uid: "d-1" }
  expect(linkOf({ ...firstState, selection: { object } })).toBe("object=apps%2Fv1.Deployment%2Fshop%2Fweb%2Fd-1")
})

test("a link to a name that is no text can be written, and any text read as a link", () => {
  const object = { gvk: "v1.ConfigMap", namespace: "", name: "half \uD800 of a pair", uid: "" }
  expect(linkedState(linkOf({ ...firstState, selection: { object } })).selection?.name).toBe("half \uFFFD of a pair")
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string({ unit: "binary" }),
        fc.string().map((each) => `object=${each}&from=${each}&at=%`),
      ),
      (link) => {
        const { window } = linkedState(link)
        expect(window === undefined || window.from < window.to).toBe(true)
      },
    ),
  )
})

test("times are written to the microsecond", () => {
  expect(timeText(1_763_720_400_123_456)).toBe("2025-11-21T10:20:00.123456Z")
})
