/** How the recording sink handles single events: what counts as a change, what is left out, and what its gaps say. */
import { describe, expect, test } from "vitest"
import { object, SinkBench } from "./sink-bench.ts"

const status = { status: { ready: 1 } }
const owner = [{ apiVersion: "apps/v1", kind: "ReplicaSet", name: "rs", uid: "rs-uid" }]

describe("detect", () => {
  const versions = [
    object("a", 1, { spec: { size: 1 } }),
    object("a", 2, { spec: { size: 1 }, ...status }),
    object("a", 3, { spec: { size: 1 }, metadata: { labels: { app: "x" } } }),
    object("a", 4, { spec: { size: 1 }, metadata: { labels: { app: "x" }, generation: 7, managedFields: [{}] } }),
    object("a", 5, { spec: { size: 2 }, metadata: { labels: { app: "x" } } }),
  ]

  test.each([
    ["all", ["1", "2", "3", "4", "5"]],
    ["content", ["1", "3", "5"]],
    ["spec", ["1", "5"]],
  ] as const)("%s counts the changes it names", (detect, expected) => {
    const bench = new SinkBench({ detect })
    bench.applied(...versions)
    expect(bench.events().map(({ version }) => version)).toEqual(expected)
    expect(bench.recorder.statistics).toMatchObject({ recorded: expected.length, unchanged: 5 - expected.length })
  })

  test.each(["all", "content", "spec"] as const)(
    "%s records a deletion with its last state, whatever changed in it",
    (detect) => {
      const bench = new SinkBench({ detect })
      const last = object("a", 2, { spec: { size: 1 } })
      bench.applied(object("a", 1, { spec: { size: 1 } }))
      bench.deleted(last)
      expect(bench.events().at(-1)).toMatchObject({ action: "deleted", version: "2", json: JSON.stringify(last) })
      expect(bench.recorder.index.size).toBe(0)
    },
  )

  test("a change back to an earlier state is a change", () => {
    const bench = new SinkBench({ detect: "spec" })
    bench.applied(object("a", 1, { spec: 1 }), object("a", 2, { spec: 2 }), object("a", 3, { spec: 1 }))
    expect(bench.brief()).toEqual(["applied a@1", "applied a@2", "applied a@3"])
  })

  test("objects are recorded byte for byte, including white space", () => {
    const bench = new SinkBench({ detect: "content" })
    const text =
      '{ "metadata" : {"name":"a","namespace":"shop", "uid":"u","resourceVersion":"7"},\n "data":{"k":"\\u00e4ö"} }'
    bench.applied(text)
    expect(bench.events()[0]?.json).toBe(text)
  })

  test("an ignored field does not count, every other one does", () => {
    const bench = new SinkBench({ detect: "content", ignore: ["/metadata/annotations/leader"] })
    bench.applied(
      object("a", 1, { metadata: { annotations: { leader: "x" } } }),
      object("a", 2, { metadata: { annotations: { leader: "y" } } }),
      object("a", 3, { metadata: { annotations: { leader: "y", other: "z" } } }),
    )
    expect(bench.brief()).toEqual(["applied a@1", "applied a@3"])
  })

  test("with all, ignored fields and what the server writes do not count, the status does", () => {
    const bench = new SinkBench({ detect: "all", ignore: ["/metadata/annotations/leader"] })
    bench.applied(
      object("a", 1, { metadata: { annotations: { leader: "x" } } }),
      object("a", 2, { metadata: { annotations: { leader: "y" }, managedFields: [{}] } }),
      object("a", 3, { metadata: { annotations: { leader: "y" } }, ...status }),
    )
    expect(bench.brief()).toEqual(["applied a@1", "applied a@3"])
  })

  test("fingerprints from the store reveal a change after a restart", () => {
    const before = new SinkBench({ detect: "content" })
    before.applied(object("a", 1, { data: 1 }), object("b", 2, { data: 1 }))
    const after = new SinkBench({ detect: "content", resumeVersion: "2", objects: before.stored() })
    after.applied(object("a", 3, { data: 1, ...status }), object("b", 4, { data: 2 }), object("c", 5))
    expect(after.brief()).toEqual(["applied b@4", "applied c@5"])
  })
})

describe("keepManagedFields: false", () => {
  const fields = [{ manager: "kubectl", fieldsV1: { "f:data": {} } }]

  test.each([
    ["first", { managedFields: fields, labels: {} }],
    ["in the middle", { labels: {}, managedFields: fields, annotations: {} }],
    ["last", { labels: {}, managedFields: fields }],
    ["nowhere", { labels: {} }],
  ])("cuts them out where they stand %s, and nothing else", (_, metadata) => {
    const bench = new SinkBench({ keepManagedFields: false })
    const whole = object("a", 1, { metadata, data: { managedFields: "kept" } })
    bench.applied(whole)
    bench.deleted({ ...whole, metadata: { ...whole.metadata, resourceVersion: "2" } })
    for (const { json } of bench.events()) {
      expect(JSON.parse(json).metadata).not.toHaveProperty("managedFields")
      expect(JSON.parse(json)).toMatchObject({ metadata: { labels: {} }, data: { managedFields: "kept" } })
    }
  })

  test("a large object after a small one is stripped completely", () => {
    const bench = new SinkBench({ keepManagedFields: false })
    for (const [version, size] of [100, 100_000, 10, 400_000].entries()) {
      bench.applied(object("a", version + 1, { metadata: { managedFields: fields }, data: "x".repeat(size) }))
    }
    expect(bench.events().map(({ json }) => (JSON.parse(json) as { data: string }).data.length)).toEqual([
      100, 100_000, 10, 400_000,
    ])
  })
})

describe("skipOwned: ingest", () => {
  test("objects with owners are left out, and so are their deletions", () => {
    const bench = new SinkBench({ skipOwned: true })
    bench.applied(object("a", 1, { metadata: { ownerReferences: owner } }), object("b", 2))
    bench.deleted(object("a", 3, { metadata: { ownerReferences: owner } }))
    expect(bench.brief()).toEqual(["applied b@2"])
    expect(bench.recorder.statistics.leftOut).toBe(2)
    expect(bench.completeThrough).toBe("3")
  })

  test.each(["[]", "[ ]", "[\n\t]", "null"])("ownerReferences %s mean no owner", (text) => {
    const bench = new SinkBench({ skipOwned: true })
    bench.applied(`{"metadata":{"name":"a","uid":"u","resourceVersion":"1","ownerReferences":${text}},"data":{}}`)
    expect(bench.brief()).toEqual(["applied a@1"])
  })

  test("an object that is adopted later stays in the recording until it is deleted", () => {
    const bench = new SinkBench({ skipOwned: true })
    bench.applied(object("a", 1), object("a", 2, { metadata: { ownerReferences: owner } }))
    bench.deleted(object("a", 3, { metadata: { ownerReferences: owner } }))
    expect(bench.brief()).toEqual(["applied a@1", "applied a@2", "deleted a@3"])
  })

  test("an object that loses its owner is recorded from then on", () => {
    const bench = new SinkBench({ skipOwned: true })
    bench.applied(object("a", 1, { metadata: { ownerReferences: owner } }), object("a", 2))
    bench.deleted(object("a", 3))
    expect(bench.brief()).toEqual(["applied a@2", "deleted a@3"])
  })

  test("a list does not end adopted objects that it contains", () => {
    const bench = new SinkBench({ skipOwned: true })
    bench.list("first", "5", object("a", 1), object("b", 2, { metadata: { ownerReferences: owner } }))
    bench.list("expired", "9", object("a", 6, { metadata: { ownerReferences: owner } }))
    expect(bench.brief()).toEqual(["applied a@1", "applied a@6"])
  })

  test("owners are sent to the store byte for byte if they are kept", () => {
    const bench = new SinkBench()
    bench.applied(object("a", 1, { metadata: { ownerReferences: owner } }))
    expect(bench.ownerReferences()).toEqual([JSON.stringify(owner)])
  })
})

describe("namespaces", () => {
  test("the same name in two namespaces is two objects", () => {
    const bench = new SinkBench()
    const other = object("a", 2, { metadata: { namespace: "bank", uid: "other" } })
    bench.applied(object("a", 1), other)
    expect(bench.brief()).toEqual(["applied a@1", "applied a@2"])
    expect(bench.recorder.index.size).toBe(2)
  })
})

describe("a gap", () => {
  const gapAfter = (reason: "expired" | "overload" | "cluster-restored", detail?: string) => {
    const bench = new SinkBench()
    bench.list("first", "10")
    if (reason === "cluster-restored") bench.sink.epochStarted("another cluster")
    bench.sink.listStarted(reason, detail)
    bench.sink.listCompleted("20")
    return bench.gaps()[0]
  }

  test.each([
    ["expired", "the server no longer had the changes since the last recorded version; its current state was listed"],
    [
      "overload",
      "reading was suspended until the server closed the watch and dropped the changes; its current state was listed",
    ],
    ["cluster-restored", "another cluster"],
  ] as const)("by itself says what its reason means: %s", (reason, detail) => {
    expect(gapAfter(reason)).toMatchObject({ reason, detail })
  })

  test("gives the session's own reason for its list if there is one, and the next gap does not repeat it", () => {
    const told = "what follows version 10 came twice in a form that cannot be read"
    expect(gapAfter("expired", told)).toMatchObject({ reason: "expired", detail: told })
    const bench = new SinkBench()
    bench.list("first", "10")
    bench.sink.listStarted("expired", told)
    bench.sink.listCompleted("20")
    bench.list("expired", "30")
    expect(bench.gaps().map(({ detail }) => detail.includes("no longer had"))).toEqual([false, true])
  })

  test("of a restored cluster whose list an earlier life did not complete begins when the kind was last complete", () => {
    const bench = new SinkBench({ epoch: 3, resumeVersion: "", lastTime: 5_000_000, completeTime: 4_000_000 })
    bench.list("first", "50", object("a", 40))
    expect(bench.gaps()).toMatchObject([{ fromTime: 4_000_000, toVersion: "50", reason: "cluster-restored" }])
  })
})
