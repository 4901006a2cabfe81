import { createHash } from "node:crypto"
import { describe, expect, test } from "vitest"
import { builtinDocuments, type CustomKind, OpenApiDocuments } from "../../../src/apiserver/openapi/openapi-document.ts"

const hashOf = (body: Uint8Array): string => createHash("sha512").update(body).digest("hex").toUpperCase()
const gvk = { group: "tests.example.com", version: "v1", kind: "Gadget" }
const gadget: CustomKind = {
  gvk,
  plural: "gadgets",
  namespaced: true,
  schema: {
    type: "object",
    description: "A gadget.",
    properties: {
      spec: { type: "object", properties: { size: { type: "integer" }, port: { "x-kubernetes-int-or-string": true } } },
    },
  },
  subresources: ["status"],
}
const path = "apis/tests.example.com/v1"

interface Index {
  readonly paths: Record<string, { readonly serverRelativeURL: string }>
}
interface Document {
  readonly paths: Record<string, { readonly patch?: { readonly parameters: ReadonlyArray<{ readonly name: string }> } }>
  readonly components: { readonly schemas: Record<string, Record<string, unknown>> }
}

describe("the documents of the built-in kinds", () => {
  test("are the real server's, byte for byte", () => {
    const documents = new OpenApiDocuments()
    const { paths } = JSON.parse(documents.index()) as Index
    expect(Object.keys(paths)).toEqual(Object.keys(builtinDocuments()).sort())
    for (const [name, { serverRelativeURL }] of Object.entries(paths)) {
      const hash = new URL(serverRelativeURL, "http://server").searchParams.get("hash") ?? ""
      const answer = documents.document(name, hash)
      if (answer?.type !== "document") throw new Error(`no document ${name}`)
      expect(hashOf(answer.body)).toBe(hash)
      expect(answer.isImmutable).toBe(true)
    }
  })

  test("move clients with an old hash to the current one", () => {
    const answer = new OpenApiDocuments().document("apis/apps/v1", "OLD")
    expect(answer).toMatchObject({ type: "moved" })
    expect(answer?.type === "moved" && answer.location).toMatch(/^\/openapi\/v3\/apis\/apps\/v1\?hash=[0-9A-F]{128}$/)
  })

  test.each(["apis/none/v1", "__proto__", "constructor", "", "../index"])("are not invented: %s", (name) => {
    expect(new OpenApiDocuments().document(name)).toBeUndefined()
  })
})

describe("the document of a custom kind", () => {
  const read = (documents: OpenApiDocuments): { document: Document; hash: string } => {
    const answer = documents.document(path)
    if (answer?.type !== "document") throw new Error("no document")
    expect(hashOf(answer.body)).toBe(answer.hash)
    return { document: JSON.parse(answer.body.toString()) as Document, hash: answer.hash }
  }

  test("appears in the index and disappears again", () => {
    const documents = new OpenApiDocuments()
    const before = documents.index()
    documents.add(gadget)
    const { hash } = read(documents)
    const { paths } = JSON.parse(documents.index()) as Index
    expect(paths[path]?.serverRelativeURL).toBe(`/openapi/v3/${path}?hash=${hash}`)
    documents.remove(gvk)
    expect(documents.index()).toBe(before)
    expect(documents.document(path)).toBeUndefined()
  })

  test("has another hash when the schema changes", () => {
    const documents = new OpenApiDocuments()
    documents.add(gadget)
    const { hash } = read(documents)
    documents.add({ ...gadget, schema: { type: "object" } })
    expect(read(documents).hash).not.toBe(hash)
    expect(documents.document(path, hash)).toMatchObject({ type: "moved" })
  })

  test("has what kubectl needs", () => {
    const documents = new OpenApiDocuments()
    documents.add(gadget)
    documents.add({
      ...gadget,
      gvk: { ...gvk, kind: "Widget" },
      plural: "widgets",
      namespaced: false,
      subresources: [],
    })
    const { document } = read(documents)
    const schema = document.components.schemas["com.example.tests.v1.Gadget"]
    expect(schema?.["x-kubernetes-group-version-kind"]).toEqual([gvk])
    expect(schema).toMatchObject({ description: "A gadget.", properties: { spec: {}, metadata: {}, kind: {} } })
    const parameters = document.paths[`/${path}/namespaces/{namespace}/gadgets/{name}`]?.patch?.parameters
    expect(parameters?.map(({ name }) => name)).toEqual(["dryRun", "fieldManager", "fieldValidation", "force"])
    expect(Object.keys(document.paths)).toContain(`/${path}/namespaces/{namespace}/gadgets/{name}/status`)
    expect(Object.keys(document.paths)).toContain(`/${path}/widgets/{name}`)
    for (const [, name = ""] of JSON.stringify(document).matchAll(/"#\/components\/schemas\/([^"]+)"/g))
      expect(Object.keys(document.components.schemas)).toContain(name)
  })
})
