/** Create, read, replace; locking, generated names, dry runs, field managers. ConfigMaps: no controller touches them. */

import { isObject } from "../../exact-json.ts"
import { get, inNamespace, jsonPatch, mergePatch, post, put, remove, type Script } from "../script.ts"
import { configMap } from "./objects.ts"

const maps = inNamespace("v1", "configmaps")
const map = (name: string): string => `${maps}/${name}`

/** Also where a controller would act on a step's object. */
const dry = { query: { dryRun: "All" } }

const creating: Script = {
  name: "create",
  area: "writes",
  steps: [
    post("create", maps, configMap("a")),
    post("create again", maps, configMap("a")),
    get("read", map("a")),
    get("read what is not there", map("nope")),
    post("with labels, annotations and binary data", maps, {
      ...configMap("b"),
      metadata: {
        name: "b",
        labels: { "example.com/tier": "x", empty: "" },
        annotations: { note: "two\nlines — ünïcödé 🙂 <&>" },
      },
      binaryData: { bytes: "AAECAw==" },
      immutable: true,
    }),
    put("change what is immutable", map("b"), configMap("b", { data: { key: "other" } })),
    post("without apiVersion and kind", maps, { metadata: { name: "plain" }, data: { k: "v" } }),
    post("system fields of the client's own", maps, {
      ...configMap("c"),
      metadata: {
        name: "c",
        uid: "11111111-2222-3333-4444-555555555555",
        creationTimestamp: "2001-01-01T00:00:00Z",
        generation: 7,
        selfLink: "/nowhere",
        deletionTimestamp: "2001-01-01T00:00:00Z",
        deletionGracePeriodSeconds: 3,
      },
    }),
    post("with a version", maps, { ...configMap("d"), metadata: { name: "d", resourceVersion: "1" } }),
    post("with managed fields", maps, {
      ...configMap("e"),
      metadata: {
        name: "e",
        managedFields: [
          {
            manager: "somebody",
            operation: "Update",
            apiVersion: "v1",
            time: "2001-01-01T00:00:00Z",
            fieldsType: "FieldsV1",
            fieldsV1: { "f:data": { "f:key": {} } },
          },
        ],
      },
    }),
    post("null members", maps, { ...configMap("f"), data: null, metadata: { name: "f", labels: null } }),
    post("as a list", maps, { apiVersion: "v1", kind: "List", items: [configMap("g")] }),
    post("to an object's path", map("h"), configMap("h")),
    post("manager in the query", maps, configMap("i"), { query: { fieldManager: "tester" } }),
    post("manager that is too long", maps, configMap("j"), { query: { fieldManager: "x".repeat(129) } }),
    post("manager with a line feed", maps, configMap("j"), { query: { fieldManager: "a\nb" } }),
    post("manager from another User-Agent", maps, configMap("k"), { headers: { "user-agent": "curl/8.0 (x)" } }),
    post(
      "yaml",
      maps,
      { raw: "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: yaml\ndata:\n  a: 'b'\n" },
      {
        headers: { "content-type": "application/yaml" },
      },
    ),
    get("read as yaml", map("yaml"), { headers: { accept: "application/yaml" } }),
    get("pretty", map("a"), { query: { pretty: "true" } }),
    remove("delete", map("a")),
    remove("delete again", map("a")),
  ],
}

const replacing: Script = {
  name: "update",
  area: "writes",
  steps: [
    post("create", maps, configMap("a"), { capture: { version: "/metadata/resourceVersion", uid: "/metadata/uid" } }),
    put("replace without a version", map("a"), configMap("a", { data: { key: "2" } })),
    put("replace with a stale version", map("a"), {
      ...configMap("a", { data: { key: "3" } }),
      metadata: { name: "a", resourceVersion: "<version>" },
    }),
    get("read", map("a"), { capture: { now: "/metadata/resourceVersion", whole: "" } }),
    put("replace with the current version", map("a"), {
      ...configMap("a", { data: { key: "3" } }),
      metadata: { name: "a", resourceVersion: "<now>", labels: { a: "b" } },
    }),
    get("read again", map("a"), { capture: { whole: "" } }),
    put("replace by itself changes nothing", map("a"), (captured) => captured.get("whole") ?? null),
    put("another UID", map("a"), {
      ...configMap("a"),
      metadata: { name: "a", uid: "11111111-2222-3333-4444-555555555555" },
    }),
    put("the right UID", map("a"), { ...configMap("a"), metadata: { name: "a", uid: "<uid>" } }),
    put("a version that is no number", map("a"), { ...configMap("a"), metadata: { name: "a", resourceVersion: "x" } }),
    put("version 0", map("a"), { ...configMap("a"), metadata: { name: "a", resourceVersion: "0" } }),
    put("another name", map("a"), configMap("b")),
    put("no name", map("a"), { apiVersion: "v1", kind: "ConfigMap", data: { x: "y" } }),
    put("another namespace", map("a"), { ...configMap("a"), metadata: { name: "a", namespace: "default" } }),
    put("what is not there", map("nope"), configMap("nope")),
    put("system fields of the client's own", map("a"), (captured) => {
      const whole = captured.get("whole")
      if (!isObject(whole) || !isObject(whole.metadata)) return null
      const metadata = { ...whole.metadata, creationTimestamp: "2001-01-01T00:00:00Z", generation: 9, selfLink: "/x" }
      return { ...whole, metadata: { ...metadata, resourceVersion: "" } }
    }),
    put("managed fields emptied", map("a"), { ...configMap("a"), metadata: { name: "a", managedFields: [] } }),
    put("managed fields reset", map("a"), { ...configMap("a"), metadata: { name: "a", managedFields: [{}] } }),
    put("by another manager", map("a"), configMap("a", { data: { key: "5", more: "x" } }), {
      query: { fieldManager: "second" },
    }),
    put(
      "finalizers and owners",
      map("a"),
      {
        ...configMap("a"),
        metadata: {
          name: "a",
          finalizers: ["example.com/hold"],
          ownerReferences: [{ apiVersion: "v1", kind: "ConfigMap", name: "owner", uid: "<uid>" }],
        },
      },
      dry,
    ),
    put(
      "two controllers",
      map("a"),
      {
        ...configMap("a"),
        metadata: {
          name: "a",
          ownerReferences: [
            { apiVersion: "v1", kind: "ConfigMap", name: "o1", uid: "<uid>", controller: true },
            { apiVersion: "v1", kind: "ConfigMap", name: "o2", uid: "<uid>", controller: true },
          ],
        },
      },
      dry,
    ),
    put("an owner without a UID", map("a"), {
      ...configMap("a"),
      metadata: { name: "a", ownerReferences: [{ apiVersion: "v1", kind: "ConfigMap", name: "o1" }] },
    }),
    put("nothing but its name", map("a"), { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" } }),
  ],
}

const generated: Script = {
  name: "generate-name",
  area: "writes",
  steps: [
    post(
      "prefix",
      maps,
      { apiVersion: "v1", kind: "ConfigMap", metadata: { generateName: "made-" } },
      {
        capture: { made: "/metadata/name" },
      },
    ),
    get("read", map("<made>")),
    post("prefix and name", maps, {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { generateName: "made-", name: "chosen" },
    }),
    post("neither", maps, { apiVersion: "v1", kind: "ConfigMap", metadata: {} }),
    post("a bad prefix", maps, { apiVersion: "v1", kind: "ConfigMap", metadata: { generateName: "Bad_" } }),
    post(
      "dry run",
      maps,
      { apiVersion: "v1", kind: "ConfigMap", metadata: { generateName: "dry-" } },
      {
        query: { dryRun: "All" },
      },
    ),
  ],
}

const dryRuns: Script = {
  name: "dry-run",
  area: "writes",
  steps: [
    post("create", maps, configMap("a"), dry),
    get("was not created", map("a")),
    post("create in earnest", maps, configMap("a")),
    post("create what exists", maps, configMap("a"), dry),
    put("update", map("a"), configMap("a", { data: { key: "dry" } }), dry),
    mergePatch("patch", map("a"), { data: { key: "dry" } }, dry),
    mergePatch("patch without change", map("a"), { data: { key: "value" } }, dry),
    jsonPatch("JSON patch", map("a"), [{ op: "remove", path: "/data/key" }], dry),
    remove("delete", map("a"), dry),
    remove("delete by options", map("a"), {
      body: { apiVersion: "v1", kind: "DeleteOptions", dryRun: ["All"] },
    }),
    remove("delete the collection", maps, { query: { dryRun: "All", labelSelector: "nobody=has" } }),
    get("nothing happened", map("a")),
    post("a word nobody knows", maps, configMap("b"), { query: { dryRun: "Some" } }),
    remove("a word nobody knows in options", map("a"), {
      body: { apiVersion: "v1", kind: "DeleteOptions", dryRun: ["Some"] },
    }),
  ],
}

export const writing: readonly Script[] = [creating, replacing, generated, dryRuns]
