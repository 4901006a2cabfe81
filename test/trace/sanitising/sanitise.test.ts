import fc from "fast-check"
import { describe, expect, test } from "vitest"
import {
  deletionStub,
  formatExactJson,
  isJsonObject,
  type JsonObject,
  parseExactJson,
  type SimkubeObject,
  type SimkubeType,
  sanitise,
  simkubeType,
  specOf,
} from "../../../src/trace/index.ts"
import { jsonObject, jsonValue } from "../json-values.ts"

const deployment: SimkubeType = { apiVersion: "apps/v1", kind: "Deployment" }
const pod: SimkubeType = { apiVersion: "v1", kind: "Pod" }

const object = (json: string): JsonObject => {
  const value = parseExactJson(json)
  if (!isJsonObject(value)) throw new Error("not an object")
  return value
}

const everything = object(`{
  "status":{"replicas":1},"spec":{"nodeName":"n","x":1},"data":null,"metadata":{
    "uid":"u","name":"web","namespace":"a","resourceVersion":"7","generation":3,"selfLink":"/x","generateName":"web-",
    "creationTimestamp":"2026-11-21T09:38:03Z","deletionTimestamp":"2026-11-21T09:38:03Z","deletionGracePeriodSeconds":30,
    "managedFields":[{"manager":"kubectl"}],"finalizers":["f"],"labels":{"app":"web"},"unheardOf":true,
    "ownerReferences":[{"uid":"o","kind":"ReplicaSet"}],
    "annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{}","deployment.kubernetes.io/revision":"1",
      "kept":"yes","__proto__":"kept too"}},
  "kind":"DeploymentList","apiVersion":"v0","aaa":1}`)

describe("sanitising for SimKube", () => {
  test("removes only what belongs to the recorded cluster", () => {
    const { metadata, ...sanitised } = sanitise(deployment, everything)
    expect(sanitised).toEqual({
      apiVersion: "apps/v1",
      kind: "Deployment",
      rest: [
        ["aaa", 1],
        ["data", null],
        ["spec", { nodeName: "n", x: 1 }],
      ],
    })
    expect(formatExactJson(metadata)).toBe(
      '{"annotations":{"kept":"yes","__proto__":"kept too"},"generateName":"web-",' +
        '"labels":{"app":"web"},"name":"web","namespace":"a"}',
    )
  })

  test("keeps references to owners in the trace, without the UID, which differs elsewhere", () => {
    const references = [{ uid: "in", kind: "ReplicaSet", name: "a" }, { uid: "out" }, "no reference"]
    const owned = { metadata: { ownerReferences: references } }
    expect(sanitise(pod, owned, ({ uid }) => uid === "in").metadata).toEqual({
      annotations: {},
      ownerReferences: [{ kind: "ReplicaSet", name: "a" }],
    })
    expect(sanitise(pod, owned).metadata).toEqual({ annotations: {} })
    expect(sanitise(pod, { metadata: { ownerReferences: "odd" } }, () => true).metadata).toEqual({ annotations: {} })
  })

  test("removes nodeName from the spec of a v1.Pod only", () => {
    expect(specOf(sanitise(pod, everything))).toEqual({ x: 1 })
    expect(specOf(sanitise({ apiVersion: "example.com/v1", kind: "Pod" }, everything))).toEqual({ nodeName: "n", x: 1 })
  })

  test("adds empty annotations where there are none, and drops nulls in metadata", () => {
    expect(sanitise(pod, {}).metadata).toEqual({ annotations: {} })
    expect(sanitise(pod, { metadata: { name: "a", labels: null, annotations: null } }).metadata).toEqual({
      annotations: {},
      name: "a",
    })
  })

  test("an object without spec still has none", () => {
    expect(specOf(sanitise(pod, { metadata: {} }))).toBeUndefined()
  })

  test("a deletion is a stub, without a namespace for cluster-scoped objects (W-12)", () => {
    expect(deletionStub(pod, "a", "b")).toEqual({ ...pod, metadata: { name: "b", namespace: "a" }, rest: [] })
    expect(deletionStub(pod, "", "b")).toEqual({ ...pod, metadata: { name: "b" }, rest: [] })
  })

  test("splits a GVK into apiVersion and kind", () => {
    expect(simkubeType("apps/v1.Deployment")).toEqual(deployment)
    expect(simkubeType("v1.Pod")).toEqual(pod)
    expect(simkubeType("Pod")).toBeUndefined()
  })

  const asJson = ({ apiVersion, kind, metadata, rest }: SimkubeObject): JsonObject => ({
    apiVersion,
    kind,
    metadata,
    ...Object.fromEntries(rest),
  })

  test("never changes its input, and sanitising twice changes nothing more", () => {
    const metadata = fc.record(
      { annotations: jsonValue, labels: jsonValue, name: fc.string(), uid: fc.string(), other: jsonValue },
      { requiredKeys: [] },
    )
    const objects = fc
      .tuple(jsonObject, fc.oneof(metadata, jsonValue), fc.oneof(jsonObject, jsonValue))
      .map(([fields, meta, spec]): JsonObject => ({ ...fields, metadata: meta, spec }))
    fc.assert(
      fc.property(objects, fc.constantFrom(pod, deployment), (input, type) => {
        const before = formatExactJson(input)
        const once = sanitise(type, input)
        expect(formatExactJson(input)).toBe(before)
        expect(formatExactJson(asJson(sanitise(type, asJson(once))))).toBe(formatExactJson(asJson(once)))
      }),
    )
  })
})
