import fc from "fast-check"
import { describe, expect, test } from "vitest"
import type { OwnerReference } from "../../src/trace/owner-references.ts"
import { groupKindOf, type KnownOwners, Ownership } from "../../src/trace/ownership.ts"

const reference = (uid: string, kind = "ReplicaSet", apiVersion = "apps/v1"): OwnerReference => ({
  apiVersion,
  kind,
  name: `name of ${uid}`,
  uid,
  controller: true,
})

const ownership = (
  edges: Readonly<Record<string, ReadonlyArray<string> | "gone">>,
  recordedKinds: ReadonlyArray<string> = [],
): Ownership =>
  new Ownership({
    ownersOf: ({ uid }): KnownOwners | undefined => {
      const owners = Object.hasOwn(edges, uid) ? edges[uid] : undefined
      if (owners === undefined) return undefined
      if (owners === "gone") return { namespace: "shop", ownerReferences: [], source: "gone" }
      return { namespace: "shop", ownerReferences: owners.map((owner) => reference(owner)), source: "recorded" }
    },
    recordedKinds: new Set(recordedKinds),
  })

const uidsAbove = (graph: Ownership, ...owners: ReadonlyArray<string>): ReadonlyArray<string> =>
  [...graph.ancestors(owners.map((owner) => reference(owner)))].map(({ uid }) => uid)

describe("the owners above an object", () => {
  test("come depth first: the first reference and all above it, then the second", () => {
    const graph = ownership({ a: ["c", "d"], c: ["e"], b: ["f"], d: [], e: [], f: [] })
    expect(uidsAbove(graph, "a", "b")).toEqual(["a", "c", "e", "d", "b", "f"])
    expect(graph.unknown).toEqual([])
  })

  test("come once each, and a circle ends", () => {
    const graph = ownership({ a: ["b"], b: ["c", "a"], c: ["b"] })
    expect(uidsAbove(graph, "a", "c")).toEqual(["a", "b", "c"])
  })

  test("end where nothing is known, and that owner is named", () => {
    const graph = ownership({ a: ["b"], c: "gone" })
    expect(uidsAbove(graph, "a", "c")).toEqual(["a", "b", "c"])
    expect(graph.unknown.map(({ gvk, name }) => `${gvk} ${name}`)).toEqual([
      "apps/v1.ReplicaSet name of b",
      "apps/v1.ReplicaSet name of c",
    ])
  })

  test("end without a question at a kind that is recorded whole", () => {
    const graph = ownership({}, ["apps/v1.ReplicaSet"])
    expect(uidsAbove(graph, "a")).toEqual(["a"])
    expect(graph.unknown).toEqual([])
  })
})

describe("an object is below a set", () => {
  test("when a member stands any number of steps above it", () => {
    const graph = ownership({ a: ["b"], b: ["c"], c: ["d"], d: [] })
    expect(graph.isBelow([reference("a")], ({ uid }) => uid === "d")).toBe(true)
    expect(ownership({ a: ["b"], b: [] }).isBelow([reference("a")], ({ uid }) => uid === "d")).toBe(false)
    expect(ownership({}).isBelow([], () => true)).toBe(false)
  })

  test("whatever a reference under another kind says of the same UID; versions of a kind are one", () => {
    const graph = ownership({ a: [] })
    const isMember = ({ uid, kind }: OwnerReference) => uid === "a" && kind === "ReplicaSet"
    expect(graph.isBelow([reference("a", "Job")], isMember)).toBe(false)
    expect(graph.isBelow([reference("a")], isMember)).toBe(true)
    expect(graph.isBelow([reference("a", "ReplicaSet", "apps/v1beta1")], isMember)).toBe(true)
    expect(groupKindOf("apps/v1.ReplicaSet")).toBe(groupKindOf("apps/v1beta1.ReplicaSet"))
    expect(groupKindOf("v1.Pod")).not.toBe(groupKindOf("metrics.k8s.io/v1.Pod"))
  })

  test("exactly when a search of the whole graph finds a member, whatever was asked before", () => {
    const uid = fc.integer({ min: 0, max: 12 }).map(String)
    const edges = fc.dictionary(uid, fc.array(uid, { maxLength: 3 }))
    fc.assert(
      fc.property(
        edges,
        fc.uniqueArray(uid, { maxLength: 3 }),
        fc.array(uid, { maxLength: 20 }),
        (graph, members, asked) => {
          const subject = ownership(graph)
          const reach = (from: string, seen = new Set<string>()): Set<string> => {
            if (seen.has(from)) return seen
            seen.add(from)
            for (const next of graph[from] ?? []) reach(next, seen)
            return seen
          }
          for (const start of asked) {
            const expected = members.some((member) => reach(start).has(member))
            expect(subject.isBelow([reference(start)], (each) => members.includes(each.uid))).toBe(expected)
          }
        },
      ),
    )
  })
})
