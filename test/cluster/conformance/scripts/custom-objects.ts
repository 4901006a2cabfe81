/** Objects of a kind that a CustomResourceDefinition defines. */

import type { Json, JsonObject } from "../../exact-json.ts"
import {
  apply,
  get,
  inCluster,
  inNamespace,
  isGone,
  jsonPatch,
  mergePatch,
  post,
  put,
  remove,
  type Script,
  strategicPatch,
  watch,
} from "../script.ts"
import { definition } from "./objects.ts"

const definitions = inCluster("apiextensions.k8s.io/v1", "customresourcedefinitions")
const group = "<ns>.example.com"
const groupVersion = `${group}/v1`

const specSchema: JsonObject = {
  type: "object",
  required: ["size"],
  properties: {
    size: { type: "integer", minimum: 1, maximum: 10 },
    colour: { type: "string", enum: ["red", "green"], default: "red" },
    name: { type: "string", pattern: "^[a-z]+$", maxLength: 5 },
    tags: { type: "array", items: { type: "string" }, "x-kubernetes-list-type": "set" },
    ports: {
      type: "array",
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["port"],
      items: {
        type: "object",
        required: ["port"],
        properties: { port: { type: "integer" }, protocol: { type: "string", default: "TCP" } },
      },
    },
    free: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
    either: { "x-kubernetes-int-or-string": true },
    maybe: { type: "string", nullable: true },
    when: { type: "string", format: "date-time" },
    nested: { type: "object", default: {}, properties: { depth: { type: "integer", default: 3 } } },
    replicas: { type: "integer", default: 1 },
  },
}
const statusSchema: JsonObject = {
  type: "object",
  properties: { phase: { type: "string" }, replicas: { type: "integer" }, selector: { type: "string" } },
}
const thingVersion: JsonObject = {
  schema: {
    openAPIV3Schema: { type: "object", required: ["spec"], properties: { spec: specSchema, status: statusSchema } },
  },
  subresources: {
    status: {},
    scale: {
      specReplicasPath: ".spec.replicas",
      statusReplicasPath: ".status.replicas",
      labelSelectorPath: ".status.selector",
    },
  },
  additionalPrinterColumns: [
    { name: "Size", type: "integer", jsonPath: ".spec.size" },
    { name: "Colour", type: "string", jsonPath: ".spec.colour", priority: 1, description: "how it looks" },
    { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
  ],
}

const thing = (name: string, spec: JsonObject, more: JsonObject = {}): JsonObject => ({
  apiVersion: groupVersion,
  kind: "Thing",
  metadata: { name },
  spec,
  ...more,
})
const things = inNamespace(groupVersion, "things")
const a = `${things}/a`
const isEstablished = (_status: number, body: Json): boolean => JSON.stringify(body).includes('"type":"Established"')
const isServed = (status: number): boolean => status === 200
const table = { headers: { accept: "application/json;as=Table;g=meta.k8s.io;v=v1" } }

const objects: Script = {
  name: "custom",
  area: "schema",
  leftovers: [`${definitions}/things.${group}`],
  steps: [
    post(
      "define",
      definitions,
      definition("things", "Thing", thingVersion, {
        names: { plural: "things", singular: "thing", kind: "Thing", shortNames: ["th"], categories: ["all"] },
      }),
    ),
    get("is established", `${definitions}/things.${group}`, { until: isEstablished }),
    get("is served", things, { until: isServed }),
    watch("things", things, 13, { fieldSelector: "metadata.name=a" }),
    post("create", things, thing("a", { size: 3 })),
    post(
      "create with everything",
      things,
      thing("full", {
        size: 3,
        colour: "green",
        name: "abc",
        tags: ["x", "y"],
        ports: [{ port: 1 }, { port: 2, protocol: "UDP" }],
        free: { any: { thing: [1, "2", null] } },
        either: "50%",
        maybe: null,
        when: "2020-01-01T00:00:00Z",
      }),
    ),
    post("unknown fields", things, thing("pruned", { size: 1, nope: { a: 1 } }, { top: 1 })),
    post("unknown fields, strictly", things, thing("strict", { size: 1, nope: { a: 1 } }, { top: 1 }), {
      query: { fieldValidation: "Strict" },
    }),
    post("unknown fields, ignored", things, thing("ignored", { size: 1, nope: { a: 1 } }), {
      query: { fieldValidation: "Ignore" },
    }),
    post("unknown metadata", things, {
      ...thing("metadata", { size: 1 }),
      metadata: { name: "metadata", nope: 1, labels: { a: "b" } },
    }),
    post("doubled fields", things, {
      raw: `{"apiVersion":"${groupVersion}","kind":"Thing","metadata":{"name":"doubled"},"spec":{"size":1,"size":2}}`,
    }),
    post("a status at creation is dropped", things, thing("st", { size: 1 }, { status: { phase: "x" } })),
    post("no spec", things, { apiVersion: groupVersion, kind: "Thing", metadata: { name: "b" } }),
    post("no size", things, thing("b", {})),
    post("size that is text", things, thing("b", { size: "3" })),
    post("size that is a fraction", things, thing("b", { size: 1.5 })),
    post("too small", things, thing("b", { size: 0 })),
    post("too large", things, thing("b", { size: 11 })),
    post("not one of those", things, thing("b", { size: 1, colour: "blue" })),
    post("not of that pattern and too long", things, thing("b", { size: 1, name: "ABCDEFG" })),
    post("doubled in a set", things, thing("b", { size: 1, tags: ["x", "x"] })),
    post("doubled in a map", things, thing("b", { size: 1, ports: [{ port: 1 }, { port: 1 }] })),
    post("null where it must not be", things, thing("b", { size: 1, name: null })),
    post("null for a default", things, thing("nulled", { size: 1, colour: null })),
    post("not a time", things, thing("b", { size: 1, when: "today" })),
    post("neither number nor text", things, thing("b", { size: 1, either: {} })),
    post("wrong kind", things, { ...thing("b", { size: 1 }), kind: "Nope" }),
    post("wrong version", things, { ...thing("b", { size: 1 }), apiVersion: `${group}/v2` }),
    post("bad name", things, thing("Bad_Name", { size: 1 })),
    post("malformed", things, { raw: "{" }),
    post("metadata of a wrong type", things, {
      ...thing("b", { size: 1 }),
      metadata: { name: "b", labels: { a: 1 } },
    }),
    get("read", a, { capture: { version: "/metadata/resourceVersion" } }),
    mergePatch("merge patch", a, { spec: { size: 4 } }),
    jsonPatch("JSON patch", a, [{ op: "add", path: "/spec/tags", value: ["t"] }]),
    strategicPatch("strategic patch", a, { spec: { size: 5 } }),
    apply("apply", a, "one", thing("a", { size: 4, name: "abc", ports: [{ port: 7 }] })),
    apply("apply with another", a, "two", thing("a", { size: 4, ports: [{ port: 8 }] })),
    apply("conflict", a, "two", thing("a", { size: 4, name: "abd" })),
    apply("forced", a, "two", thing("a", { size: 6 }), { query: { force: "true" } }),
    put("replace without a version", a, thing("a", { size: 1 })),
    put("replace with a stale version", a, {
      ...thing("a", { size: 1 }),
      metadata: { name: "a", resourceVersion: "<version>" },
    }),
    get("read again", a, { capture: { now: "/metadata/resourceVersion" } }),
    put("replace", a, {
      ...thing("a", { size: 1 }, { status: { phase: "ignored" } }),
      metadata: { name: "a", resourceVersion: "<now>", labels: { a: "b" } },
    }),
    mergePatch("labels change no generation", a, { metadata: { labels: { c: "d" } } }),
    mergePatch("invalid patch", a, { spec: { size: 100 } }),
    mergePatch("status", `${a}/status`, { status: { phase: "Ready", replicas: 2, selector: "a=b" } }),
    mergePatch("spec through the status", `${a}/status`, { spec: { size: 9 } }),
    get("status read", `${a}/status`),
    get("scale", `${a}/scale`),
    put("set scale", `${a}/scale`, {
      apiVersion: "autoscaling/v1",
      kind: "Scale",
      metadata: { name: "a" },
      spec: { replicas: 4 },
    }),
    mergePatch("patch scale", `${a}/scale`, { spec: { replicas: 5 } }),
    get("list", things),
    get("table", things, table),
    get("table of one", a, table),
    get("metadata of one", a, {
      headers: { accept: "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1" },
    }),
    get("a field it lacks", things, { query: { fieldSelector: "spec.size=1" } }),
    get("by label", things, { query: { labelSelector: "a=b" } }),
    get("its group", `/apis/${group}`),
    get("its version", `/apis/${groupVersion}`),
    remove("delete one", a),
    remove("delete the rest", things),
    get("none", things),
    post("one more", things, thing("last", { size: 1 })),
    remove("undefine", `${definitions}/things.${group}`),
    get("undefined", `${definitions}/things.${group}`, { until: isGone }),
    get("not served any more", things, { until: isGone }),
    get("its group is gone", `/apis/${group}`, { until: isGone }),
  ],
}

export const customObjects: readonly Script[] = [objects]
