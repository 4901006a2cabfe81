/** What a watcher of definitions says of them. */
import { describe, expect, test } from "vitest"
import { readDefinition } from "../../../src/actors/watcher/definitions.ts"
import { object, SinkBench } from "./sink-bench.ts"

const definition = (versions: ReadonlyArray<string>, status?: object): string =>
  JSON.stringify({
    spec: {
      group: "example.com",
      scope: "Namespaced",
      names: { kind: "Widget", plural: "widgets", singular: "widget", shortNames: ["wd"] },
      versions: versions.map((name) => ({ name, served: !name.endsWith("9"), storage: false })),
    },
    ...(status && { status }),
  })

describe("a definition", () => {
  test("is of the version that a server prefers, among those that it serves", () => {
    const preferred = (...versions: ReadonlyArray<string>) => readDefinition(definition(versions))?.version
    expect(preferred("v1alpha1", "v1", "v1beta2", "v9")).toBe("v1")
    expect(preferred("v2", "v10", "v1beta1")).toBe("v10")
    expect(preferred("v1beta1", "v1beta2", "v2alpha1")).toBe("v1beta2")
    expect(preferred("second", "first")).toBe("first")
    expect(preferred("v9")).toBeUndefined()
  })

  test("is served once the server has accepted it", () => {
    const served = (status?: object) => readDefinition(definition(["v1"], status))?.isServed
    expect([served(), served({}), served({ conditions: [{ type: "NamesAccepted", status: "True" }] })]).toEqual([
      ...[false, false, false],
    ])
    expect(served({ conditions: [{ type: "Established", status: "False" }] })).toBe(false)
    expect(served({ conditions: [{ type: "Established", status: "True" }] })).toBe(true)
  })
})

describe("the first list of a kind that was not installed", () => {
  test("leaves a gap since it was last known to be absent; the next list has its own", () => {
    const bench = new SinkBench()
    bench.sink.absent()
    const absent = bench.clock.wallMicros()
    bench.clock.advance(2000)
    bench.list("first", "10", object("a", 1))
    expect(bench.gaps()).toEqual([
      expect.objectContaining({
        ...{ fromVersion: "", toVersion: "10", fromTime: absent, toTime: absent + 2_000_000, reason: "stopped" },
        detail: expect.stringContaining("the kind was installed meanwhile"),
      }),
    ])
    bench.list("expired", "20", object("a", 1))
    expect(bench.gaps().map(({ reason }) => reason)).toEqual(["stopped", "expired"])
  })
})
