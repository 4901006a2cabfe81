/** CustomResourceDefinitions: refused, accepted, changed, removed. */

import type { Json, JsonObject } from "../../exact-json.ts"
import { get, inCluster, inNamespace, isGone, isThere, mergePatch, post, remove, type Script } from "../script.ts"
import { definition, openSchema } from "./objects.ts"

const definitions = inCluster("apiextensions.k8s.io/v1", "customresourcedefinitions")
const group = "<ns>.example.com"
const groupVersion = `${group}/v1`
const boxes = (plural: string): string => `${definitions}/${plural}.${group}`
const isEstablished = (_status: number, body: Json): boolean => JSON.stringify(body).includes('"type":"Established"')
const table = { headers: { accept: "application/json;as=Table;g=meta.k8s.io;v=v1" } }

/** Much of it is JavaScript's, but none of it RE2's. */
const unreadable = [
  "(?=a)b",
  "(?<!a)b",
  "(a)\\1",
  "a{1001}",
  "(a{100}){100}",
  "[z-a]",
  "[a",
  "(a",
  "a)",
  "*a",
  "a**",
  "a{2}{3}",
  "a\\",
  "\\p{Nobody}",
  "\\cA",
  "(?P<a b>c)",
  "[[:nobody:]]",
  "(?x)a",
]
const patterned = (pattern: string): JsonObject => ({
  schema: { openAPIV3Schema: { type: "object", properties: { a: { type: "string", pattern } } } },
})

const definitionRules: Script = {
  name: "definitions",
  area: "schema",
  leftovers: ["boxes", "crates", "crooked", "faulty"].map(boxes),
  steps: [
    post("no schema", definitions, definition("boxes", "Box", {})),
    post("another name", definitions, { ...definition("boxes", "Box", openSchema), metadata: { name: "nope" } }),
    post("no versions", definitions, definition("boxes", "Box", openSchema, { versions: [] })),
    post(
      "two storage versions",
      definitions,
      definition("boxes", "Box", openSchema, {
        versions: [
          { name: "v1", served: true, storage: true, ...openSchema },
          { name: "v2", served: true, storage: true, ...openSchema },
        ],
      }),
    ),
    post(
      "a schema that is not structural",
      definitions,
      definition("crooked", "Crooked", {
        schema: { openAPIV3Schema: { type: "object", properties: { spec: { properties: { a: {} } } } } },
      }),
    ),
    post("a bad scope", definitions, definition("boxes", "Box", openSchema, { scope: "Nope" })),
    post(
      "a bad default",
      definitions,
      definition("faulty", "Faulty", {
        schema: { openAPIV3Schema: { type: "object", properties: { a: { type: "integer", default: "x" } } } },
      }),
    ),
    ...unreadable.map((pattern) =>
      post(`a pattern that is none: ${pattern}`, definitions, definition("faulty", "Faulty", patterned(pattern))),
    ),
    post("dry run", definitions, definition("boxes", "Box", openSchema), { query: { dryRun: "All" } }),
    post("lawful", definitions, definition("boxes", "Box", openSchema, { scope: "Cluster" })),
    get("is established", boxes("boxes"), { until: isEstablished }),
    get("is served", inCluster(groupVersion, "boxes"), { until: isThere }),
    post("keeps what it is given", inCluster(groupVersion, "boxes"), {
      apiVersion: groupVersion,
      kind: "Box",
      metadata: { name: "b" },
      any: { thing: [1, 2.5, "x", null, true] },
      status: { kept: true },
    }),
    mergePatch("generation counts without a status of its own", inCluster(groupVersion, "boxes", "b"), {
      status: { kept: false },
    }),
    get("no status", inCluster(groupVersion, "boxes", "b", "status")),
    get("not in a namespace", inNamespace(groupVersion, "boxes")),
    get("table without columns", inCluster(groupVersion, "boxes"), table),
    mergePatch("one more version", boxes("boxes"), {
      spec: {
        versions: [
          { name: "v1", served: true, storage: true, ...openSchema },
          { name: "v2", served: true, storage: false, deprecated: true, deprecationWarning: "use v1", ...openSchema },
          { name: "v1beta1", served: true, storage: false, deprecated: true, ...openSchema },
          { name: "v1beta2", served: true, storage: false, ...openSchema },
        ],
      },
    }),
    get("is served too", inCluster(`${group}/v2`, "boxes", "b"), { until: isThere }),
    mergePatch("written through a deprecated version", inCluster(`${group}/v2`, "boxes", "b"), { old: true }),
    get("nothing of a deprecated version", inCluster(`${group}/v2`, "boxes", "nothing")),
    get("a warning in the server's own words", inCluster(`${group}/v1beta1`, "boxes", "b")),
    get("a version that is not deprecated", inCluster(`${group}/v1beta2`, "boxes", "b")),
    get("versions of the group", `/apis/${group}`),
    mergePatch("scope must not change", boxes("boxes"), { spec: { scope: "Namespaced" } }),
    post("the same kind again", definitions, definition("crates", "Box", openSchema)),
    get("names are not accepted", boxes("crates"), {
      until: (_status, body) => JSON.stringify(body).includes("NamesAccepted"),
    }),
    remove("undefine the second", boxes("crates")),
    remove("undefine", boxes("boxes")),
    get("undefined", boxes("boxes"), { until: isGone }),
  ],
}

export const definitionScripts: readonly Script[] = [definitionRules]
