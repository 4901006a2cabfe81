import fc from "fast-check"
import { describe, expect, test } from "vitest"
import type { OwnerReference } from "../../../src/trace/ownership/owner-references.ts"
import { groupKindOf, type KnownOwners, Ownership } from "../../../src/trace/ownership/ownership.ts"
import { rounds } from "../../harness/effort.ts"

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

  test("end where the owners are unknown, and that owner is named", () => {
    const graph = ownership({ a: ["b"], c: "gone" })
    expect(uidsAbove(graph, "a", "c")).toEqual(["a", "b", "c"])
    expect(graph.unknown.map(({ gvk, name }) => `${gvk} ${name}`)).toEqual([
      "apps/v1.ReplicaSet name of b",
      "apps/v1.ReplicaSet name of c",
    ])
  })

  test("end without a look-up at a kind that is completely recorded", () => {
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

  test("whatever a reference under another kind says about the same UID; versions of a kind are one", () => {
    const graph = ownership({ a: [] })
    const isMember = ({ uid, kind }: OwnerReference) => uid === "a" && kind === "ReplicaSet"
    expect(graph.isBelow([reference("a", "Job")], isMember)).toBe(false)
    expect(graph.isBelow([reference("a")], isMember)).toBe(true)
    expect(graph.isBelow([reference("a", "ReplicaSet", "apps/v1beta1")], isMember)).toBe(true)
    expect(groupKindOf("apps/v1.ReplicaSet")).toBe(groupKindOf("apps/v1beta1.ReplicaSet"))
    expect(groupKindOf("v1.Pod")).not.toBe(groupKindOf("metrics.k8s.io/v1.Pod"))
  })

  test("exactly when a search of the whole graph finds a member, whatever the earlier calls", () => {
    fc.assert(
      fc.property(graphs, members, fc.array(uid, { maxLength: 20 }), (graph, chosen, asked) => {
        const subject = ownership(graph)
        for (const start of asked) {
          const expected = chosen.some((member) => reach(graph, start).has(member))
          expect(subject.isBelow([reference(start)], (each) => chosen.includes(each.uid))).toBe(expected)
        }
      }),
    )
  })
})

const uid = fc.integer({ min: 0, max: 12 }).map(String)
const graphs = fc.dictionary(uid, fc.array(uid, { maxLength: 3 }))
const members = fc.uniqueArray(uid, { maxLength: 5 })

type Graph = Readonly<Record<string, ReadonlyArray<string>>>

/** An owner and all above it. */
const reach = (graph: Graph, from: string, seen = new Set<string>()): Set<string> => {
  if (seen.has(from)) return seen
  seen.add(from)
  for (const next of graph[from] ?? []) reach(graph, next, seen)
  return seen
}

describe("no controller recreates what nothing outside its circle owns, so it is not below", () => {
  const isOwned = (graph: Graph, object: string, isMember: (owner: string) => boolean = () => true): boolean =>
    ownership(graph).isBelow(
      (graph[object] ?? []).map((owner) => reference(owner)),
      ({ uid: owner }) => isMember(owner),
      { gvk: "apps/v1.ReplicaSet", uid: object },
    )

  test("an object that owns itself", () => {
    expect(isOwned({ a: ["a"] }, "a")).toBe(false)
  })

  test("all objects of a circle, however long", () => {
    const graph = { a: ["b"], b: ["c"], c: ["a"] }
    expect(["a", "b", "c"].map((object) => isOwned(graph, object))).toEqual([false, false, false])
  })

  test("except what the circle owns, and a whole circle that something else owns", () => {
    expect(isOwned({ a: ["b"], b: ["a"], child: ["a"] }, "child")).toBe(true)
    const owned = { a: ["b"], b: ["a", "top"], top: [] }
    expect(["a", "b"].map((object) => isOwned(owned, object))).toEqual([true, true])
    // An owner that is not in the trace is not replayed.
    expect(["a", "b"].map((object) => isOwned(owned, object, (owner) => owner !== "top"))).toEqual([false, false])
  })

  test("a circle between an owner and an object does not end the chain", () => {
    const graph = { child: ["a"], a: ["b"], b: ["a", "top"], top: [] }
    expect(isOwned(graph, "child", (owner) => owner === "top")).toBe(true)
  })

  test("chains and circles of any length are walked without recursion", () => {
    const length = 20_000
    const name = (index: number): string => String(index % length)
    const circle = Object.fromEntries(Array.from({ length }, (_, index) => [name(index), [name(index + 1)]]))
    expect(isOwned(circle, "7")).toBe(false)
    const chain = { ...circle, [name(length - 1)]: [] }
    expect(isOwned(chain, "0", (owner) => owner === name(length - 1))).toBe(true)
  })

  test("in any graph an object is below exactly those members above it that it is not above itself", () => {
    fc.assert(
      fc.property(graphs, members, fc.array(uid, { maxLength: 20 }), (graph, chosen, asked) => {
        const subject = ownership(graph)
        for (const object of asked) {
          const owners = graph[object] ?? []
          const above = new Set(owners.flatMap((owner) => [...reach(graph, owner)]))
          const expected = chosen.some((member) => above.has(member) && !reach(graph, member).has(object))
          const isBelow = subject.isBelow(
            owners.map((owner) => reference(owner)),
            (each) => chosen.includes(each.uid),
            { gvk: "apps/v1.ReplicaSet", uid: object },
          )
          expect(isBelow).toBe(expected)
        }
      }),
      { numRuns: rounds(1000) },
    )
  })

  test("whatever is left out has an owner in the trace that stays in it", () => {
    fc.assert(
      fc.property(graphs, (graph) => {
        const subject = ownership(graph)
        const everything = new Set(Object.keys(graph))
        const isLeftOut = (object: string): boolean =>
          subject.isBelow(
            (graph[object] ?? []).map((owner) => reference(owner)),
            (each) => everything.has(each.uid),
            { gvk: "apps/v1.ReplicaSet", uid: object },
          )
        for (const object of everything) {
          if (!isLeftOut(object)) continue
          expect([...reach(graph, object)].some((owner) => everything.has(owner) && !isLeftOut(owner))).toBe(true)
        }
      }),
      { numRuns: rounds(500) },
    )
  })
})
