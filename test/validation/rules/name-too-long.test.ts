import { describe, expect, test } from "vitest"
import { deployment, foundBy, object } from "../traces.ts"

const long = (length: number) => "n".repeat(length)

describe("E0014 name_too_long", () => {
  test("finds a namespace of which 63 characters are exceeded with the prefix", () => {
    expect(
      foundBy("E0014", [{ applied: [deployment({}, "web", long(55)), object("v1.Namespace", long(55), {}, "")] }]),
    ).toEqual([])
    expect(
      foundBy("E0014", [{ applied: [deployment({}, "web", long(56)), object("v1.Namespace", long(56), {}, "")] }]),
    ).toEqual([`v1.Namespace ${long(56)}: name virtual-${long(56)} ×2`])
  })

  test("uses the prefix of the replay", () => {
    const events = [{ applied: [deployment({}, "web", long(56))] }]
    expect(foundBy("E0014", events, { namespacePrefix: "v" })).toEqual([])
    expect(foundBy("E0014", events, { namespacePrefix: "" })).toEqual([])
  })

  test("finds other objects without namespace beyond 253 characters, but not definitions, which keep their names", () => {
    const volume = (length: number) => object("v1.PersistentVolume", long(length), {}, "")
    expect(foundBy("E0014", [{ applied: [volume(245)] }])).toEqual([])
    expect(foundBy("E0014", [{ applied: [volume(246)] }])).toHaveLength(1)
    const definition = object("apiextensions.k8s.io/v1.CustomResourceDefinition", long(250), {}, "")
    expect(foundBy("E0014", [{ applied: [definition] }])).toEqual([])
  })
})
