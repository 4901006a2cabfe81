/** JSON patch, merge patch, strategic merge patch and its directives. */

import { ask, get, inNamespace, jsonPatch, mergePatch, post, type Script, strategicPatch } from "../script.ts"
import { configMap, service, unmanagedJob, unscheduledPod } from "./objects.ts"

const maps = inNamespace("v1", "configmaps")
const map = (name: string): string => `${maps}/${name}`
const services = inNamespace("v1", "services")
const web = `${services}/web`
const pods = inNamespace("v1", "pods")

const jsonPatches: Script = {
  name: "json-patch",
  area: "patch",
  steps: [
    post("create", maps, configMap("a", { data: { one: "1", two: "2" } })),
    jsonPatch("add, replace, remove", map("a"), [
      { op: "add", path: "/data/three", value: "3" },
      { op: "replace", path: "/data/one", value: "eins" },
      { op: "remove", path: "/data/two" },
    ]),
    jsonPatch("test that holds", map("a"), [
      { op: "test", path: "/data/one", value: "eins" },
      { op: "add", path: "/metadata/labels", value: { a: "b" } },
    ]),
    jsonPatch("test that fails", map("a"), [{ op: "test", path: "/data/one", value: "nope" }]),
    jsonPatch("move and copy", map("a"), [
      { op: "copy", from: "/data/one", path: "/data/copied" },
      { op: "move", from: "/data/three", path: "/data/moved" },
    ]),
    jsonPatch("escaped path", map("a"), [{ op: "add", path: "/metadata/labels/example.com~1x", value: "y" }]),
    jsonPatch("remove what is not there", map("a"), [{ op: "remove", path: "/data/nope" }]),
    jsonPatch("replace what is not there", map("a"), [{ op: "replace", path: "/data/nope", value: "x" }]),
    jsonPatch("below what is not there", map("a"), [{ op: "add", path: "/nope/deep", value: "x" }]),
    jsonPatch("unknown operation", map("a"), [{ op: "frobnicate", path: "/data/one" }]),
    jsonPatch("no array", map("a"), { op: "add", path: "/data/x", value: "y" }),
    jsonPatch("malformed", map("a"), { raw: "[{" }),
    jsonPatch("empty", map("a"), []),
    jsonPatch("nothing at all", map("a"), { raw: "" }),
    jsonPatch("wrong type", map("a"), [{ op: "add", path: "/data/one", value: 1 }]),
    jsonPatch("version that is stale", map("a"), [{ op: "replace", path: "/metadata/resourceVersion", value: "1" }]),
    jsonPatch("another name", map("a"), [{ op: "replace", path: "/metadata/name", value: "b" }]),
    jsonPatch("another UID", map("a"), [
      { op: "replace", path: "/metadata/uid", value: "11111111-2222-3333-4444-555555555555" },
    ]),
    jsonPatch("another kind", map("a"), [{ op: "replace", path: "/kind", value: "Secret" }]),
    jsonPatch("an unknown field", map("a"), [{ op: "add", path: "/nope", value: "x" }]),
    jsonPatch("an unknown field, strictly", map("a"), [{ op: "add", path: "/nope", value: "x" }], {
      query: { fieldValidation: "Strict" },
    }),
    jsonPatch("the whole document", map("a"), [{ op: "replace", path: "", value: { data: {} } }]),
    jsonPatch("what does not exist", map("nope"), [{ op: "add", path: "/data/x", value: "y" }]),
    get("read", map("a")),
  ],
}

const mergePatches: Script = {
  name: "merge-patch",
  area: "patch",
  steps: [
    post("create", maps, configMap("a", { data: { one: "1", two: "2" } })),
    mergePatch("set and remove", map("a"), { data: { one: "eins", two: null, three: "3" } }),
    mergePatch("change nothing", map("a"), { data: { one: "eins" } }),
    mergePatch("empty", map("a"), {}),
    mergePatch("remove what is not there", map("a"), { data: { nope: null } }),
    mergePatch("labels", map("a"), { metadata: { labels: { a: "b" } } }),
    mergePatch("no labels", map("a"), { metadata: { labels: null } }),
    mergePatch("remove all data", map("a"), { data: null }),
    mergePatch("malformed", map("a"), { raw: "{" }),
    mergePatch("an array", map("a"), []),
    mergePatch("a string", map("a"), "text"),
    mergePatch("null", map("a"), { raw: "null" }),
    mergePatch("no body", map("a"), { raw: "" }),
    mergePatch("yaml", map("a"), { raw: "data:\n  x: y\n" }),
    mergePatch("wrong type", map("a"), { data: { one: 1 } }),
    mergePatch("wrong type of a map", map("a"), { data: "text" }),
    mergePatch("an unknown field", map("a"), { nope: 1 }),
    mergePatch("an unknown field, ignored", map("a"), { nope: 1 }, { query: { fieldValidation: "Ignore" } }),
    mergePatch("an unknown field, strictly", map("a"), { nope: 1 }, { query: { fieldValidation: "Strict" } }),
    mergePatch("doubled fields", map("a"), { raw: `{"data":{"a":"1"},"data":{"a":"2"}}` }),
    mergePatch(
      "doubled fields, strictly",
      map("a"),
      { raw: `{"data":{"a":"1","a":"2"}}` },
      {
        query: { fieldValidation: "Strict" },
      },
    ),
    mergePatch("bad label", map("a"), { metadata: { labels: { "bad key!": "x" } } }),
    mergePatch("version that is stale", map("a"), { metadata: { resourceVersion: "1" } }),
    mergePatch("another namespace", map("a"), { metadata: { namespace: "default" } }),
    mergePatch("what does not exist", map("nope"), { data: { x: "y" } }),
    mergePatch("prototype keys", map("a"), { raw: `{"data":{"__proto__":"p","constructor":"c"}}` }),
    mergePatch("forced", map("a"), { data: { one: "x" } }, { query: { force: "true" } }),
    ask("PATCH", "another media type", map("a"), { body: {}, headers: { "content-type": "application/json" } }),
    ask("PATCH", "no media type", map("a"), { body: { raw: "{}" }, headers: { "content-type": "" } }),
    ask("PATCH", "media type with parameters", map("a"), {
      body: { data: { p: "q" } },
      headers: { "content-type": "application/merge-patch+json; charset=utf-8" },
    }),
    get("read", map("a")),
  ],
}

const strategicPatches: Script = {
  name: "strategic-patch",
  area: "patch",
  steps: [
    post(
      "a service",
      services,
      service("web", {
        ports: [
          { name: "http", port: 80 },
          { name: "https", port: 443 },
        ],
      }),
    ),
    strategicPatch("change an item by its key", web, { spec: { ports: [{ port: 80, targetPort: 8080 }] } }),
    strategicPatch("add an item", web, { spec: { ports: [{ port: 9090, name: "metrics" }] } }),
    strategicPatch("delete an item", web, { spec: { ports: [{ port: 443, $patch: "delete" }] } }),
    strategicPatch("change an item and delete another", web, {
      spec: {
        ports: [
          { port: 9090, $patch: "delete" },
          { port: 80, targetPort: 8081 },
        ],
      },
    }),
    strategicPatch("replace the list", web, {
      spec: { ports: [{ name: "only", port: 8443 }, { $patch: "replace" }] },
    }),
    strategicPatch("replace a map", web, { spec: { selector: { $patch: "replace", tier: "x" } } }),
    strategicPatch("delete a map", web, { spec: { selector: { $patch: "delete" } } }),
    strategicPatch("keep some keys", web, { metadata: { labels: { a: "1", b: "2", c: "3" } } }),
    strategicPatch("retain keys", web, { metadata: { labels: { $retainKeys: ["a", "d"], a: "9", d: "4" } } }),
    strategicPatch("retain keys without one that is set", web, {
      metadata: { labels: { $retainKeys: ["a"], e: "5" } },
    }),
    strategicPatch("an item without its key", web, { spec: { ports: [{ name: "x" }] } }),
    strategicPatch("unknown directive", web, { spec: { selector: { $patch: "frobnicate" } } }),
    strategicPatch("directive that is no text", web, { spec: { selector: { $patch: 1 } } }),
    strategicPatch("element order", web, {
      spec: {
        $setElementOrder: "x",
        ports: [],
      },
    }),
    strategicPatch("order of items", web, {
      spec: {
        "$setElementOrder/ports": [{ port: 9090 }, { port: 8443 }],
        ports: [{ port: 9090, name: "metrics" }],
      },
    }),
    strategicPatch("list of the wrong type", web, { spec: { ports: "text" } }),
    strategicPatch("malformed", web, { raw: "{" }),
    strategicPatch("empty", web, {}),
    strategicPatch("an unknown field", web, { spec: { nope: 1 } }),
    strategicPatch("an unknown field, strictly", web, { spec: { nope: 1 } }, { query: { fieldValidation: "Strict" } }),
    strategicPatch("finalizers merge", web, { metadata: { finalizers: ["example.com/a", "example.com/b"] } }),
    strategicPatch("finalizers merge once more", web, { metadata: { finalizers: ["example.com/c"] } }),
    strategicPatch("delete from a list of plain values", web, {
      metadata: { "$deleteFromPrimitiveList/finalizers": ["example.com/a", "example.com/c", "example.com/b"] },
    }),
    strategicPatch("owners merge by UID", web, {
      metadata: {
        ownerReferences: [{ apiVersion: "v1", kind: "Node", name: "n", uid: "11111111-2222-3333-4444-555555555555" }],
      },
    }),
    strategicPatch("delete an owner", web, {
      metadata: { ownerReferences: [{ uid: "11111111-2222-3333-4444-555555555555", $patch: "delete" }] },
    }),
    get("read", web),
  ],
}

const strategicPods: Script = {
  name: "strategic-pods",
  area: "patch",
  steps: [
    post("a pod", pods, {
      ...unscheduledPod("p", {
        containers: [
          {
            name: "one",
            image: "example.com/one:1",
            env: [
              { name: "A", value: "1" },
              { name: "B", value: "2" },
            ],
          },
          { name: "two", image: "example.com/two:1" },
        ],
        tolerations: [{ key: "k", operator: "Exists" }],
      }),
    }),
    strategicPatch("change an image", `${pods}/p`, {
      spec: { containers: [{ name: "two", image: "example.com/two:2" }] },
    }),
    strategicPatch("tolerations are replaced", `${pods}/p`, {
      spec: { tolerations: [{ key: "other", operator: "Exists" }] },
    }),
    strategicPatch("what must not change", `${pods}/p`, { spec: { containers: [{ name: "three", image: "x" }] } }),
    strategicPatch("delete a container", `${pods}/p`, { spec: { containers: [{ name: "two", $patch: "delete" }] } }),
    strategicPatch("active deadline", `${pods}/p`, { spec: { activeDeadlineSeconds: 100 } }),
    strategicPatch("status through the object", `${pods}/p`, { status: { phase: "Running" } }),
    strategicPatch("conditions merge by type", `${pods}/p/status`, {
      status: {
        conditions: [
          { type: "Ready", status: "True" },
          { type: "example.com/x", status: "False" },
        ],
      },
    }),
    strategicPatch("one condition", `${pods}/p/status`, {
      status: { conditions: [{ type: "Ready", status: "False", reason: "R" }] },
    }),
    strategicPatch("order of conditions", `${pods}/p/status`, {
      status: {
        "$setElementOrder/conditions": [{ type: "example.com/x" }, { type: "Ready" }],
        conditions: [{ type: "Ready", message: "m" }],
      },
    }),
    post("a job", inNamespace("batch/v1", "jobs"), unmanagedJob("j")),
    strategicPatch("a job's parallelism", inNamespace("batch/v1", "jobs", "j"), { spec: { parallelism: 3 } }),
    strategicPatch("a job's template", inNamespace("batch/v1", "jobs", "j"), {
      spec: { template: { spec: { containers: [{ name: "main", image: "example.com/main:2" }] } } },
    }),
  ],
}

export const patching: readonly Script[] = [jsonPatches, mergePatches, strategicPatches, strategicPods]
