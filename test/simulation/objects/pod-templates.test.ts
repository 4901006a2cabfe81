import fc from "fast-check"
import { describe, expect, test } from "vitest"
import {
  originalNamespaceAnnotation,
  placePods,
  type TemplateChange,
} from "../../../src/simulation/objects/pod-templates.ts"
import { formatExactJson, type JsonObject } from "../../../src/trace/index.ts"
import { changedAt } from "../../../src/trace/json/extended-pointer.ts"
import { jsonValue, objectOf } from "../../trace/json-values.ts"

const change: TemplateChange = {
  originalNamespace: "shop",
  placement: { nodeSelector: { type: "virtual" }, taintKey: "kwok-provider" },
  renamed: (spec) => spec,
}
const toleration = { key: "kwok-provider", operator: "Exists", effect: "NoSchedule" }
const annotations = { [originalNamespaceAnnotation]: "shop" }
const placed = { nodeSelector: { type: "virtual" }, tolerations: [toleration] }
const pods = (spec: JsonObject, given = change) => placePods({ spec }, [""], given).spec

describe("A pod", () => {
  test("is placed on virtual nodes, and says which namespace it was recorded in", () => {
    expect(placePods({ spec: { containers: [] } }, [""], change)).toEqual({
      metadata: { annotations },
      spec: { containers: [], ...placed },
    })
  })

  test("keeps its own node selector, tolerations and annotations", () => {
    const own = { key: "dedicated", operator: "Exists" }
    const object = {
      metadata: { name: "web", annotations: { own: "yes" } },
      spec: { nodeSelector: { disk: "ssd", type: "real" }, tolerations: [own] },
    }
    expect(placePods(object, [""], change)).toEqual({
      metadata: { name: "web", annotations: { own: "yes", ...annotations } },
      spec: { nodeSelector: { disk: "ssd", type: "virtual" }, tolerations: [own, toleration] },
    })
  })

  test("that tolerates the taint already gets no second toleration", () => {
    const own = { key: "kwok-provider", operator: "Equal", value: "true", effect: "NoSchedule" }
    expect(pods({ tolerations: [own] })).toEqual({ ...placed, tolerations: [own] })
  })

  test("keeps its place if none is asked for", () => {
    const anywhere = { ...change, placement: { nodeSelector: {}, taintKey: undefined } }
    expect(pods({ containers: [] }, anywhere)).toEqual({ containers: [] })
  })

  test("exposes no ports, in ordinary and in init containers", () => {
    const container = { name: "web", image: "web" }
    const exposed = { ...container, ports: [{ containerPort: 80, hostPort: 80 }] }
    expect(pods({ containers: [exposed, container], initContainers: [exposed] })).toEqual({
      containers: [container, container],
      initContainers: [container],
      ...placed,
    })
  })

  test("has its spec renamed before it is placed", () => {
    const renamed = (spec: JsonObject): JsonObject => ({ ...spec, nodeSelector: { zone: "a" } })
    expect(pods({}, { ...change, renamed })).toMatchObject({ nodeSelector: { zone: "a", type: "virtual" } })
  })
})

describe("A template", () => {
  const template = { spec: { containers: [] } }
  const done = { metadata: { annotations }, spec: { containers: [], ...placed } }

  test("is found below `*` in every element, and other members of the elements stay (W-45)", () => {
    const object = { spec: { jobs: [{ name: "a", template }, { name: "b" }, "odd", { name: "c", template }] } }
    expect(placePods(object, ["/spec/jobs/*/template"], change)).toEqual({
      spec: { jobs: [{ name: "a", template: done }, { name: "b" }, "odd", { name: "c", template: done }] },
    })
  })

  test("is found at an index, and other elements stay", () => {
    expect(placePods({ list: [template, template] }, ["/list/1"], change)).toEqual({ list: [template, done] })
  })

  test("is found below an escaped name", () => {
    expect(placePods({ "a/b~c": template }, ["/a~1b~0c"], change)).toEqual({ "a/b~c": done })
    expect(placePods({ "~1": template }, ["/~01"], change)).toEqual({ "~1": done })
  })

  test("that is not there is not created, nor is one without a spec changed", () => {
    for (const object of [{}, { spec: {} }, { spec: { template: null } }, { spec: { template: { metadata: {} } } }])
      expect(placePods(object, ["/spec/template", "/spec/*/template", "/spec/0"], change)).toEqual(object)
  })

  test("of each path is changed", () => {
    expect(placePods({ a: template, b: template, c: template }, ["/a", "/b"], change)).toEqual({
      a: done,
      b: done,
      c: template,
    })
  })
})

describe("Whatever an object contains", () => {
  const spec = fc
    .record(
      { nodeSelector: jsonValue, tolerations: jsonValue, containers: fc.array(jsonValue), other: jsonValue },
      { requiredKeys: [] },
    )
    .map((record) => objectOf(Object.entries(record)))
  const object = fc.record({ metadata: jsonValue, spec: fc.oneof(spec, jsonValue) })

  test("it is never changed, and placing its pods twice is placing them once", () => {
    fc.assert(
      fc.property(object, (given) => {
        const whole = { template: given, list: [given, given] }
        const paths = ["/template", "/list/*"]
        const before = formatExactJson(whole)
        const once = placePods(whole, paths, change)
        expect(formatExactJson(whole)).toBe(before)
        expect(formatExactJson(placePods(once, paths, change))).toBe(formatExactJson(once))
      }),
    )
  })
})

test("nothing is changed at a path that leads to something other than an object", () => {
  const value = { a: [1, "x", null, { b: 2 }] }
  expect(changedAt(value, ["a", "*"], () => ({ changed: true }))).toEqual({ a: [1, "x", null, { changed: true }] })
})
