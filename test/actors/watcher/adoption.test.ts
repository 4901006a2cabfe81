/** Changed owners of a known object are sent to the store once, with any `detect`. */
import { expect, test } from "vitest"
import { object, SinkBench } from "./sink-bench.ts"

const owner = (uid: string, more: object = {}) => [
  { apiVersion: "apps/v1", kind: "ReplicaSet", name: "rs", uid: `${uid}-0000-4000-8000-36cdd2cc8983`, ...more },
]
const owned = (version: number, ownerReferences: unknown, labels: object = {}) =>
  object("a", version, { metadata: { ownerReferences, labels }, spec: { size: 1 } })

test.each(["all", "content", "spec"] as const)("with detect: %s", (detect) => {
  const bench = new SinkBench({ detect })
  const [first, second] = [owner("6986996b"), owner("b0fdecec")]
  bench.applied(owned(1, undefined), owned(2, []), owned(3, first), owned(4, first, { app: "x" }))
  bench.applied(
    owned(5, second),
    owned(6, [{ ...second[0], controller: true }]),
    owned(7, undefined),
    owned(8, undefined),
  )
  expect(bench.ownerReferences()).toEqual([
    "",
    JSON.stringify(first),
    JSON.stringify(second),
    JSON.stringify([{ ...second[0], controller: true }]),
    "",
  ])
})

test("also of an object whose owners an earlier life may not have sent", () => {
  const before = new SinkBench()
  before.applied(owned(1, undefined))
  const after = new SinkBench({ resumeVersion: "1", objects: before.stored() })
  after.applied(owned(2, owner("6986996b")), owned(3, owner("6986996b")))
  expect(after.ownerReferences()).toEqual([JSON.stringify(owner("6986996b"))])
})

test("not of an object without owners, in any life", () => {
  const before = new SinkBench()
  before.applied(owned(1, undefined))
  const after = new SinkBench({ resumeVersion: "1", objects: before.stored() })
  after.applied(owned(2, undefined), owned(3, null), owned(4, []))
  expect(after.ownerReferences()).toEqual([])
})

test("in the text that the server sent, wherever the object is in the buffer", () => {
  const bench = new SinkBench()
  const text = (version: number, references: string): string =>
    `{ "metadata": {"name":"a","uid":"uid-a","resourceVersion":"${version}","ownerReferences": ${references} } }`
  bench.applied(text(1, "[ ]"), text(2, '[ { "uid":"x" } ]'), text(3, '[ { "uid":"x" } ]'), text(4, "null"))
  expect(bench.ownerReferences()).toEqual(["", '[ { "uid":"x" } ]', ""])
})
