import { describe, expect, test } from "vitest"
import { SchemaCatalogue } from "../../../src/sandbox/schema/catalogue.ts"
import { customType } from "../../../src/sandbox/schema/custom/custom-schema.ts"
import type { KubernetesType } from "../../../src/sandbox/schema/kubernetes-type.ts"

const catalogue = new SchemaCatalogue()
const fieldOf = (kind: string, ...path: string[]): KubernetesType => {
  const [group = "", name = ""] = kind.split(":")
  let type = catalogue.of({ group, version: "v1", kind: name })
  for (const step of path) type = step === "[]" ? type?.items : type?.fields.get(step)
  if (type === undefined) throw new Error(`${kind} has no ${path.join(".")}`)
  return type
}

describe("the types of the built-in kinds", () => {
  test("have lists with keys, and the defaults of the keys", () => {
    const ports = fieldOf(":Pod", "spec", "containers", "[]", "ports")
    expect(ports).toMatchObject({ kind: "list", listType: "map", patchMergeKey: "containerPort" })
    expect(ports.listMapKeys).toEqual(["containerPort", "protocol"])
    expect(ports.keyDefaults.get("protocol")).toBe("TCP")
    expect([...ports.patchStrategies]).toEqual(["merge"])
    expect(fieldOf(":Pod", "metadata", "finalizers")).toMatchObject({ kind: "list", listType: "set" })
    expect(fieldOf(":Pod", "spec", "tolerations")).toMatchObject({ kind: "list", listType: "atomic" })
  })

  test("have patch strategies and atomic maps", () => {
    expect([...fieldOf("apps:Deployment", "spec", "strategy").patchStrategies]).toEqual(["retainKeys"])
    expect([...fieldOf(":Pod", "spec", "volumes").patchStrategies]).toEqual(["merge", "retainKeys"])
    expect(fieldOf("apps:Deployment", "spec", "selector").isAtomic).toBe(true)
    expect(fieldOf(":Pod", "spec", "nodeSelector").isAtomic).toBe(true)
    expect(fieldOf(":ConfigMap", "data")).toMatchObject({ kind: "map", isAtomic: false })
  })

  test("have values that JSON shows as another type", () => {
    expect(fieldOf(":Pod", "spec", "containers", "[]", "resources", "limits", "[]").kind).toBe("int-or-string")
    expect(fieldOf("apps:Deployment", "spec", "strategy", "rollingUpdate", "maxSurge").kind).toBe("int-or-string")
    expect(fieldOf(":Pod", "metadata", "creationTimestamp")).toMatchObject({ kind: "string", default: undefined })
    expect(fieldOf("apps:ControllerRevision", "data")).toMatchObject({ kind: "object", keepsUnknown: true })
    const schema = ["spec", "versions", "[]", "schema", "openAPIV3Schema"]
    expect(fieldOf("apiextensions.k8s.io:CustomResourceDefinition", ...schema, "default").kind).toBe("any")
  })

  test("are graphs where kinds are recursive, and shared between kinds", () => {
    const schema = fieldOf(
      "apiextensions.k8s.io:CustomResourceDefinition",
      "spec",
      "versions",
      "[]",
      "schema",
      "openAPIV3Schema",
    )
    expect(schema.fields.get("not")?.fields).toBe(schema.fields)
    expect(schema.fields.get("properties")?.items?.fields).toBe(schema.fields)
    expect(fieldOf("apps:Deployment", "spec", "template", "spec").fields).toBe(fieldOf(":Pod", "spec").fields)
  })

  test.each(["DeleteOptions", "PodList", "constructor"])("answer for what the document has: %s", (kind) => {
    expect(catalogue.of({ group: "", version: "v1", kind }) === undefined).toBe(kind === "constructor")
  })
})

describe("kinds of one's own", () => {
  const gvk = { group: "example.com", version: "v1", kind: "Gadget" }

  test("come and go, in one catalogue only", () => {
    const mine = new SchemaCatalogue()
    expect(mine.of(gvk)).toBeUndefined()
    const type = customType({ type: "object", properties: { spec: { type: "object" } } })
    mine.add(gvk, type)
    expect(mine.of(gvk)).toBe(type)
    expect(catalogue.of(gvk)).toBeUndefined()
    mine.remove(gvk)
    expect(mine.of(gvk)).toBeUndefined()
    expect(mine.of({ group: "__proto__", version: "v1", kind: "constructor" })).toBeUndefined()
  })

  test("have the server's metadata, whatever their schema says", () => {
    const type = customType({ type: "object", properties: { metadata: { type: "object" } } })
    expect(type.fields.get("metadata")?.fields.get("finalizers")?.listType).toBe("set")
  })

  test("may have schemas of any depth", () => {
    let schema: { type: string; properties?: Record<string, object> } = { type: "object" }
    for (let depth = 0; depth < 20_000; depth++) schema = { type: "object", properties: { a: schema } }
    expect(customType(schema).fields.get("a")?.kind).toBe("object")
  })
})
