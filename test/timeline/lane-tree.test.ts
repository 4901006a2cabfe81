import fc from "fast-check"
import { expect, test } from "vitest"
import { type LaneRow, LaneTree, laneRows } from "../../src/timeline/index.ts"

const all = { offset: 0, limit: 1000 }
const row = (name: string, owner?: string, kind = "v1.Pod", namespace = "shop"): LaneRow => ({
  ...{ id: `${kind}/${name}`, gvk: kind, namespace, name, uid: name },
  owners: owner === undefined ? [] : [{ gvk: "apps/v1.ReplicaSet", name: owner, uid: owner }],
})
const drawn = (tree: LaneTree, parent?: string, depth = 0): string[] =>
  tree
    .page(parent, all)
    .lanes.flatMap(({ id, object, children, objects }) => [
      `${" ".repeat(depth)}${object.name} ${children}/${objects}`,
      ...drawn(tree, id, depth + 1),
    ])

test("namespaces, and in them objects below their owners, by kind and name", () => {
  const tree = new LaneTree(
    laneRows([
      row("web-2", "web"),
      row("web-1", "web"),
      row("lonely"),
      row("web", undefined, "apps/v1.ReplicaSet"),
      row("node", undefined, "v1.Node", ""),
    ]),
  )
  expect(drawn(tree)).toEqual([
    " 1/1",
    " node 0/0",
    "shop 2/4",
    " lonely 0/0",
    " web 2/2",
    "  web-1 0/0",
    "  web-2 0/0",
  ])
  expect(tree.page(undefined, { offset: 1, limit: 1 })).toMatchObject({ total: 2, lanes: [{ id: "namespace/shop" }] })
  expect(tree.lane("v1.Pod/web-1")?.above).toEqual(["namespace/shop", "apps/v1.ReplicaSet/web"])
  expect(tree.laneOf({ gvk: "v1.Pod", name: "web-2" })?.lane.id).toBe("v1.Pod/web-2")
  expect(tree.lane("nothing")).toBeUndefined()
})

test("an owner of which only the name is recorded has a lane; one in another namespace owns nothing", () => {
  const tree = new LaneTree(
    laneRows([row("web-1", "gone"), row("mirror", "node"), { ...row("node", undefined, "v1.Node", ""), uid: "node" }]),
  )
  expect(drawn(tree)).toEqual([" 1/1", " node 0/0", "shop 2/2", " mirror 0/0", " gone 1/1", "  web-1 0/0"])
  expect(tree.lane("owner/shop/gone")?.lane).toMatchObject({ type: "owner", object: { gvk: "apps/v1.ReplicaSet" } })
})

test("a part of a name keeps what is above its matches, and nothing else", () => {
  const rows = [row("web-1", "web"), row("web-2", "web"), row("web"), row("other", undefined, "v1.Pod", "else")]
  expect(drawn(new LaneTree(laneRows(rows), "B-2"))).toEqual(["shop 1/2", " web 1/1", "  web-2 0/0"])
  expect(new LaneTree(laneRows(rows), "B-2").lane("v1.Pod/web-1")).toBeUndefined()
})

test("every object has one place, whatever owns what: circles, oneself, what is not there", () => {
  const owner = fc.option(fc.integer({ min: 0, max: 12 }), { nil: undefined })
  fc.assert(
    fc.property(fc.array(owner, { minLength: 1, maxLength: 10 }), (owners) => {
      const rows = owners.map((each, at) => row(`o${at}`, each === undefined ? undefined : `o${each}`))
      const tree = new LaneTree(laneRows(rows))
      const places = drawn(tree).map((line) => line.trim().split(" ")[0])
      expect(places.filter((name) => rows.some((each) => each.name === name)).toSorted()).toEqual(
        rows.map(({ name }) => name).toSorted(),
      )
      expect(tree.page(undefined, all).lanes[0]?.objects).toBe(rows.length)
    }),
  )
})

test("a chain of 100,000 owners is a tree as any other", () => {
  const rows = Array.from({ length: 100_000 }, (_, at) => row(`o${at}`, at === 0 ? undefined : `o${at - 1}`))
  expect(new LaneTree(laneRows(rows)).lane("v1.Pod/o99999")?.above.length).toBe(100_000)
})
