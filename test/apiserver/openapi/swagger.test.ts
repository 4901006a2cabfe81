/** `/openapi/v2`. All definitions and paths were compared with those of Kubernetes 1.34.4 when this was written. */

import protobuf from "protobufjs"
import { expect, test } from "vitest"
import { OpenApiDocuments } from "../../../src/apiserver/openapi/openapi-document.ts"
import { jsonEncoding, SwaggerMaker } from "../../../src/apiserver/openapi/swagger-answer.ts"
import { openForFile } from "../../sandbox/opened-sandbox.ts"
import { sendFor } from "../../sandbox/writes/write-client.ts"

/** The part of gnostic's messages that this looks at, with its numbers. */
const { root } = protobuf.parse(
  `syntax = "proto3";
  message Document { string swagger = 1; Info info = 2; Paths paths = 8; Definitions definitions = 9; Parameters parameters = 10; }
  message Info { string title = 1; string version = 2; }
  message Paths { repeated NamedPathItem path = 2; }
  message NamedPathItem { string name = 1; PathItem value = 2; }
  message PathItem { Operation get = 2; Operation patch = 8; repeated ParametersItem parameters = 9; }
  message Operation { string operation_id = 5; repeated string consumes = 7; repeated ParametersItem parameters = 8; repeated NamedAny vendor_extension = 13; }
  message ParametersItem { Parameter parameter = 1; JsonReference json_reference = 2; }
  message JsonReference { string _ref = 1; }
  message Parameter { Body body_parameter = 1; NonBody non_body_parameter = 2; }
  message Body { string name = 2; bool required = 4; Schema schema = 5; }
  message NonBody { Query query_parameter_sub_schema = 3; Path path_parameter_sub_schema = 4; }
  message Query { string in = 2; string name = 4; string type = 6; bool unique_items = 20; }
  message Path { bool required = 1; string in = 2; string name = 4; string type = 5; bool unique_items = 19; }
  message Schema { string _ref = 1; string format = 2; Any default = 5; double maximum = 7; int64 max_length = 11; repeated string required = 19;
    Additional additional_properties = 21; TypeItem type = 22; Items items = 23; Properties properties = 25; repeated NamedAny vendor_extension = 31; }
  message Additional { Schema schema = 1; bool boolean = 2; }
  message TypeItem { repeated string value = 1; }
  message Items { repeated Schema schema = 1; }
  message Properties { repeated NamedSchema additional_properties = 1; }
  message Definitions { repeated NamedSchema additional_properties = 1; }
  message NamedSchema { string name = 1; Schema value = 2; }
  message Parameters { repeated NamedParameter additional_properties = 1; }
  message NamedParameter { string name = 1; Parameter value = 2; }
  message NamedAny { string name = 1; Any value = 2; }
  message Any { string yaml = 2; }`,
  { keepCase: true },
)
const documentType = root.lookupType("Document")

const protobufType = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
const web = "/apis/apps/v1/namespaces/{namespace}/deployments/{name}"
const deployment = "io.k8s.api.apps.v1.Deployment"

const sandbox = await openForFile()

const ask = (accept?: string) =>
  fetch(`${sandbox.url}/openapi/v2`, accept === undefined ? {} : { headers: { Accept: accept } })

interface Named {
  readonly name: string
  readonly value: Json
}
type Json = { readonly [member: string]: Json } & ReadonlyArray<Named>
const one = (items: ReadonlyArray<Named> | undefined, name: string): Json | undefined =>
  items?.find((item) => item.name === name)?.value
const namesOf = (items: ReadonlyArray<Named> | undefined): ReadonlyArray<string> =>
  (items ?? []).map(({ name }) => name)
const jsonOf = async (response: Response): Promise<Json> => (await response.json()) as Json

test("one document has the definitions and paths of all groups, and of custom kinds as they come and go", async () => {
  const document = await jsonOf(await ask("application/json"))
  expect(document).toMatchObject({ swagger: "2.0", info: { title: "Kubernetes" } })
  expect(document.definitions?.[deployment]?.properties?.spec).toEqual({
    description: "Specification of the desired behavior of the Deployment.",
    $ref: "#/definitions/io.k8s.api.apps.v1.DeploymentSpec",
  })
  expect(document.definitions?.["io.k8s.apimachinery.pkg.util.intstr.IntOrString"]).toMatchObject({ type: "string" })
  const inline = namesOf(document.paths?.[web]?.patch?.parameters)
  expect(inline).toEqual(expect.arrayContaining(["dryRun", "fieldValidation"]))
  const spec = {
    type: "object",
    required: ["size", "note"],
    properties: {
      size: { type: "string", maxLength: 9, default: "x" },
      note: { type: "object", nullable: true, properties: { a: { type: "string" } } },
      free: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
    },
  }
  const definition = {
    metadata: { name: "gadgets.example.com" },
    spec: {
      group: "example.com",
      scope: "Namespaced",
      names: { plural: "gadgets", kind: "Gadget" },
      versions: [
        {
          name: "v1",
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: "object", properties: { spec } } },
        },
      ],
    },
  }
  await sendFor(sandbox, 201, "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
  const response = await ask()
  const custom = (await jsonOf(response)).definitions?.["com.example.v1.Gadget"]
  // kubectl before 1.16 could not read more of a nullable or open value.
  expect(custom?.properties?.spec).toEqual({
    type: "object",
    required: ["size"],
    properties: {
      size: { type: "string", maxLength: 9 },
      note: {},
      free: { "x-kubernetes-preserve-unknown-fields": true },
    },
  })
  const etag = response.headers.get("etag") ?? ""
  const again = await fetch(`${sandbox.url}/openapi/v2`, { headers: { "If-None-Match": etag } })
  expect(again.status).toBe(304)
})

test("in protobuf it says the same", async () => {
  const response = await ask(protobufType)
  expect(response.headers.get("content-type")).toBe("application/com.github.proto-openapi.spec.v2.v1.0+protobuf")
  const decoded = documentType.toObject(documentType.decode(Buffer.from(await response.arrayBuffer()))) as Json
  const json = await jsonOf(await ask("application/json"))
  expect(decoded.info).toEqual(json.info)
  expect(namesOf(decoded.definitions?.additional_properties)).toEqual(Object.keys(json.definitions ?? {}))
  expect(namesOf(decoded.paths?.path)).toEqual(Object.keys(json.paths ?? {}))
  const value = one(decoded.definitions?.additional_properties, deployment)
  expect(one(value?.properties?.additional_properties, "spec")?._ref).toBe(
    "#/definitions/io.k8s.api.apps.v1.DeploymentSpec",
  )
  expect(one(value?.vendor_extension, "x-kubernetes-group-version-kind")?.yaml).toBe(
    '[{"group":"apps","kind":"Deployment","version":"v1"}]\n',
  )
  const path = one(decoded.paths?.path, web)
  expect(path?.patch?.consumes).toContain("application/strategic-merge-patch+json")
  const query = { name: "dryRun", in: "query", type: "string", unique_items: true }
  expect(path?.patch?.parameters).toContainEqual({
    parameter: { non_body_parameter: { query_parameter_sub_schema: query } },
  })
  const named = { required: true, in: "path", name: "name", type: "string", unique_items: true }
  expect(path?.parameters?.[0]).toEqual({ parameter: { non_body_parameter: { path_parameter_sub_schema: named } } })
})

test("each document is converted in a turn of its own, once, and what has not changed is kept", async () => {
  const documents = new OpenApiDocuments()
  const maker = new SwaggerMaker(documents)
  const turnsOfMaking = async (): Promise<number> => {
    let turns = 0
    let isMade = false
    const count = (): void => {
      if (isMade) return
      turns++
      setImmediate(count)
    }
    setImmediate(count)
    await maker.make(jsonEncoding)
    isMade = true
    return turns
  }
  const hash = maker.hash()
  expect(await turnsOfMaking()).toBeGreaterThanOrEqual(documents.paths().length - 1)
  expect(await turnsOfMaking()).toBe(0)
  const gvk = { group: "example.com", version: "v1", kind: "Gadget" }
  documents.add({ gvk, plural: "gadgets", namespaced: true, schema: undefined, subresources: [] })
  expect(maker.hash()).not.toBe(hash)
  expect(await turnsOfMaking()).toBe(1)
  const { body } = await maker.make(jsonEncoding)
  expect(body.toString()).toContain("/apis/example.com/v1/namespaces/{namespace}/gadgets")
  documents.remove(gvk)
  expect(maker.hash()).toBe(hash)
  expect((await maker.make(jsonEncoding)).body.toString()).not.toContain("/apis/example.com/")
})

test("other types get 406", async () => {
  const response = await ask("text/html")
  expect([response.status, await response.text()]).toEqual([406, ""])
})
