/** CustomResourceDefinitions that the real server (Kubernetes 1.34.4) refuses or does not establish, with its messages. */

import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { Sandbox } from "../../../src/library/sandbox.ts"
import { bodyOf, send, sendFor } from "../writes/write-client.ts"

let sandbox: Sandbox
const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
const open = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } }
const definition = (plural: string, schema: object, spec: object = {}) => ({
  metadata: { name: `${plural}.x.io` },
  spec: {
    group: "x.io",
    scope: "Cluster",
    names: { plural, kind: "Box" },
    versions: [{ name: "v1", served: true, storage: true, schema }],
    ...spec,
  },
})
beforeAll(async () => {
  sandbox = await Sandbox.start({ ledger: "none" })
  await sendFor(sandbox, 201, "POST", definitions, definition("boxes", open))
})
afterAll(() => sandbox.close())

const causesOf = async (body: object): Promise<unknown> =>
  bodyOf(await send(sandbox, "POST", definitions, body)).details.causes

describe("a definition is refused", () => {
  const schemaOf = (properties: object): object => ({ openAPIV3Schema: { type: "object", properties } })
  const field = "spec.validation.openAPIV3Schema"

  test("for fields without a type", async () => {
    expect(await causesOf(definition("crooked", schemaOf({ spec: { properties: { a: {} } } })))).toMatchObject([
      { reason: "FieldValueRequired", field: `${field}.properties[spec].properties[a].type` },
      { reason: "FieldValueRequired", field: `${field}.properties[spec].type` },
    ])
  })

  test("for a default that its own schema refuses", async () => {
    expect(await causesOf(definition("faulty", schemaOf({ a: { type: "integer", default: "x" } })))).toMatchObject([
      { reason: "FieldValueTypeInvalid", field: `${field}.properties[a].default` },
    ])
  })

  test("for two storage versions, and for none", async () => {
    const version = { served: true, storage: true, schema: open }
    const versions = [
      { name: "v1", ...version },
      { name: "v2", ...version },
    ]
    expect(await causesOf(definition("two", open, { versions }))).toMatchObject([
      { field: "spec.versions" },
      { field: "status.storedVersions" },
    ])
    expect(await causesOf(definition("none", open, { versions: [] }))).toMatchObject([
      { field: "spec.versions" },
      { field: "status.storedVersions" },
    ])
  })
})

test("names that another definition has are not accepted; the last one is reported", async () => {
  await sendFor(sandbox, 201, "POST", definitions, definition("crates", open))
  const { status } = await sendFor(sandbox, 200, "GET", `${definitions}/crates.x.io`)
  expect(status).toMatchObject({
    acceptedNames: { plural: "crates", kind: "" },
    conditions: [{ reason: "ListKindConflict", message: '"BoxList" is already in use' }, { status: "False" }],
  })
  expect((await send(sandbox, "GET", "/apis/x.io/v1/crates")).status).toBe(404)
})

test("the status of a definition belongs to the API server", async () => {
  const { metadata } = await sendFor(sandbox, 200, "GET", `${definitions}/boxes.x.io`)
  expect(metadata.managedFields).toContainEqual(
    expect.objectContaining({ manager: "apiserver", subresource: "status" }),
  )
})

test("objects of another version, without a status, and in a namespace", async () => {
  const box = { apiVersion: "x.io/v2", kind: "Box", metadata: { name: "b" }, spec: {} }
  const answer = await send(sandbox, "POST", "/apis/x.io/v1/boxes", box)
  expect([answer.status, bodyOf(answer).message]).toEqual([
    400,
    "the API version in the data (x.io/v2) does not match the expected API version (x.io/v1)",
  ])
  expect(bodyOf(await send(sandbox, "GET", "/apis/x.io/v1/boxes/b/status")).message).toBe('boxes.x.io "b" not found')
  expect((await send(sandbox, "GET", "/apis/x.io/v1/namespaces/default/boxes")).text).toBe("404 page not found\n")
})
