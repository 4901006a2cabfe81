/** How bodies and patches are decoded, as Kubernetes 1.34.4 decodes them. */

import { beforeAll, describe, expect, test } from "vitest"
import { openForFile } from "../opened-sandbox.ts"
import { applyPatch, bodyOf, configMaps, jsonPatch, mergePatch, send, sendFor, strategicPatch } from "./write-client.ts"

const sandbox = await openForFile({ ledger: "none" })
beforeAll(async () => {
  await sendFor(sandbox, 201, "POST", configMaps, { metadata: { name: "a" }, data: { k: "v" } })
})

const services = "/api/v1/namespaces/default/services"
const yaml = { type: "application/yaml" }
const messageOf = async (...sent: Parameters<typeof send>): Promise<string> => bodyOf(await send(...sent)).message
const fieldsOf = (object: { readonly metadata: Readonly<Record<string, unknown>> }, manager = "probe"): unknown =>
  (object.metadata.managedFields as ReadonlyArray<{ manager: string; fieldsV1: unknown }> | undefined)?.find(
    (entry) => entry.manager === manager,
  )?.fieldsV1

describe("JSON", () => {
  test("objects that are named twice are merged, as Go decodes them, with a warning", async () => {
    const answer = await send(
      sandbox,
      "POST",
      configMaps,
      '{"metadata":{"name":"q"},"data":{"a":"1"},"data":{"b":"2"}}',
    )
    expect([answer.status, answer.warnings]).toEqual([201, ['duplicate field "data"']])
    expect(bodyOf(answer).data).toEqual({ a: "1", b: "2" })
  })

  test("more than 10,000 levels are too many", async () => {
    const text = `${'{"a":'.repeat(10_001)}1${"}".repeat(10_001)}`
    expect(await messageOf(sandbox, "POST", configMaps, text)).toContain("more than 10000 levels")
  })

  test.each([
    { apiVersion: "v1", kind: "Secret", data: { a: "not base64" } },
    { apiVersion: "v1", kind: "List" },
    { apiVersion: "a/b/c", kind: "ConfigMap" },
    { apiVersion: 1, kind: "ConfigMap" },
  ])("%j is not a ConfigMap", async (body) => {
    const refused = await send(sandbox, "POST", configMaps, body)
    expect([refused.status, bodyOf(refused).reason]).toEqual([400, "BadRequest"])
    expect(bodyOf(refused).message).toContain("cannot be read as a ConfigMap of v1")
  })
})

describe("YAML", () => {
  const doubled = (name: string): string =>
    `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\ndata:\n  a: "1"\n  a: "2"\n  b: "1"\n  b: "2"\nnope: 1\n`
  const repeated = ['line 6: key "a" already set in map', 'line 8: key "b" already set in map']

  test("duplicate keys cause a warning, and the last one counts", async () => {
    const answer = await send(sandbox, "POST", configMaps, doubled("twice"), yaml)
    expect([answer.status, answer.warnings]).toEqual([201, [...repeated, 'unknown field "nope"']])
    expect(bodyOf(answer).data).toEqual({ a: "2", b: "2" })
  })

  test("duplicate keys are refused if the client is strict", async () => {
    expect(await messageOf(sandbox, "POST", `${configMaps}?fieldValidation=Strict`, doubled("strict"), yaml)).toBe(
      `the body cannot be read as a ConfigMap of v1: strict decoding error: ${repeated.join(", ")}, unknown field "nope"`,
    )
  })

  test("an anchor inside its own value is refused, in a body as in an apply", async () => {
    const circle = "metadata: {name: circle}\ndata: &x {a: *x}\n"
    expect(await messageOf(sandbox, "POST", configMaps, circle, yaml)).toContain("anchor value contains itself")
    const path = `${configMaps}/circle?fieldManager=m`
    expect(await messageOf(sandbox, "PATCH", path, circle, applyPatch)).toContain("anchor value contains itself")
  })

  test("the first of several documents is used", async () => {
    const text = "metadata: {name: first}\n---\nmetadata: {name: second}\n"
    expect(bodyOf(await send(sandbox, "POST", configMaps, text, yaml)).metadata.name).toBe("first")
  })

  test("yes is a boolean, a date and 1:30 are texts", async () => {
    const of = (value: string): string => `metadata: {name: odd}\ndata: {a: ${value}}\n`
    expect(await messageOf(sandbox, "POST", configMaps, of("yes"), yaml)).toContain(
      "data.a must be string, not boolean",
    )
    for (const value of ["1:30", "2020-01-01"]) {
      const answer = await send(sandbox, "POST", `${configMaps}?dryRun=All`, of(value), yaml)
      expect(bodyOf(answer).data).toEqual({ a: value })
    }
  })
})

describe("members that a patch leaves empty", () => {
  test("a map is removed, with its owner", async () => {
    const spec = { selector: { app: "x" }, ports: [{ port: 80 }] }
    await sendFor(sandbox, 201, "POST", services, { metadata: { name: "web", finalizers: ["a.b/c"] }, spec })
    const body = { spec: { selector: { $patch: "delete" } } }
    const emptied = await sendFor(sandbox, 200, "PATCH", `${services}/web`, body, strategicPatch)
    expect(emptied.spec).not.toHaveProperty("selector")
    expect(fieldsOf(emptied)).not.toHaveProperty(["f:spec", "f:selector"])
    const unknown = { spec: { selector: { $patch: "frobnicate" } } }
    await sendFor(sandbox, 200, "PATCH", `${services}/web`, unknown, strategicPatch)
    const finalizers = { metadata: { "$deleteFromPrimitiveList/finalizers": ["a.b/c"] } }
    const freed = await sendFor(sandbox, 200, "PATCH", `${services}/web`, finalizers, strategicPatch)
    expect(fieldsOf(freed)).not.toHaveProperty("f:metadata")
  })

  test("an empty list of rules is owned by its sender", async () => {
    const roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
    const role = await sendFor(sandbox, 201, "POST", roles, { metadata: { name: "r" }, rules: [] })
    expect([role, fieldsOf(role)]).toMatchObject([{ rules: null }, { "f:rules": {} }])
  })
})

describe("strict decoding of a patch", () => {
  test("a merge patch with duplicate members gets a warning, or is refused", async () => {
    const doubled = '{"data":{"k":"1","k":"2"}}'
    const answer = await send(sandbox, "PATCH", `${configMaps}/a?dryRun=All`, doubled, mergePatch)
    expect([answer.status, answer.warnings]).toEqual([200, ['duplicate field "data.k"']])
    const strict = `${configMaps}/a?fieldValidation=Strict`
    expect(await messageOf(sandbox, "PATCH", strict, doubled, mergePatch)).toContain('duplicate field "data.k"')
    expect(await messageOf(sandbox, "PATCH", strict, '{"nope":1}', strategicPatch)).toContain('unknown field "nope"')
  })

  test("operations of a JSON patch have four members, each once", async () => {
    const text = '[{"op":"test","path":"/kind","value":"ConfigMap","foo":1,"op":"test"}]'
    const { warnings } = await send(sandbox, "PATCH", `${configMaps}/a`, text, jsonPatch)
    expect(warnings).toEqual(['json patch duplicate field "[0].op"', 'json patch unknown field "[0].foo"'])
  })

  test("a document without an apiVersion has no name", async () => {
    const operations = [{ op: "replace", path: "", value: { data: { a: "b" }, metadata: { name: "a" } } }]
    const answer = await send(sandbox, "PATCH", `${configMaps}/a`, operations, jsonPatch)
    expect([answer.status, answer.warnings, bodyOf(answer).message]).toEqual([
      400,
      ['unknown field "data"', 'unknown field "metadata"'],
      "the name of the object (a based on URL) was undeterminable: name must be provided",
    ])
  })
})

describe("an apply", () => {
  const apply = (query: string, body: unknown, name = "new") =>
    send(sandbox, "PATCH", `${configMaps}/${name}?fieldManager=m&${query}`, body, applyPatch)
  const head = '"apiVersion":"v1","kind":"ConfigMap"'

  test("without a name creates nothing", async () => {
    expect((await apply("", `{${head}}`)).status).toBe(400)
  })

  test("ignores the version of an absent object, and takes null for the empty text", async () => {
    const answer = await apply("", `{${head},"metadata":{"name":"new","resourceVersion":"7"},"data":{"k":null}}`)
    expect([answer.status, bodyOf(answer).data]).toEqual([201, { k: "" }])
  })

  test("with duplicate keys gets a warning, or is refused", async () => {
    const doubled = `{${head},"metadata":{"name":"new"},"data":{"x":"1","x":"2"}}`
    expect((await apply("dryRun=All", doubled)).warnings).toEqual(['line 1: key "x" already set in map'])
    expect(bodyOf(await apply("fieldValidation=Strict", doubled)).message).toBe(
      'strict decoding error: line 1: key "x" already set in map',
    )
  })
})
