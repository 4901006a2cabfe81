import { expect, test } from "vitest"
import type { JsonObject } from "../cluster/exact-json.ts"
import type { LedgerLine } from "../cluster/ledger.ts"
import { redactedLedger } from "../cluster/redacted-ledger.ts"

const key = "a key of more than 16 bytes"
const manifest = "kubectl.kubernetes.io/last-applied-configuration"

const redacted = (object: JsonObject): JsonObject => {
  const line: LedgerLine = { line: "listed", gvk: "v1.Pod", uid: "u", resourceVersion: "1", object }
  const [found] = redactedLedger([line], key)
  if (found === undefined || found.line === "list") throw new Error("the line is not there any more")
  return found.object
}

const pod = (env: ReadonlyArray<JsonObject>): JsonObject => ({ spec: { containers: [{ name: "main", env }] } })

test.each(["DB_PASSWORD", "OLD_TOKEN", "API_KEY", "db_pass", "MONGO_MAIN_URI", "REGISTRY_AUTH", "PGDSN"])(
  "the value of %s is a hash",
  (name) => {
    expect(redacted(pod([{ name, value: "hunter2" }]))).toEqual(
      pod([{ name, value: expect.stringMatching(/^redacted:[0-9a-f]{16}$/) }]),
    )
  },
)

test.each(["COLOUR", "PASSAGE", "KEYBOARD", "MONGO_URIS"])("the value of %s stays", (name) => {
  const object = { metadata: { managedFields: [] }, ...pod([{ name, value: "hunter2" }]) }
  expect(redacted(object)).toEqual(object)
})

test.each([
  [
    "keeps managed fields that name fields",
    { "f:spec": { 'k:{"name":"OLD_TOKEN"}': {} }, "f:finalizers": { 'v:"a"': {} } },
    true,
  ],
  ["loses managed fields that may hold values", { "f:spec": { 'v:"hunter2"': {} } }, false],
] as const)(
  "an object of which only the last applied manifest has a secret loses that, and %s",
  (_what, fieldsV1, isKept) => {
    const applied = JSON.stringify(pod([{ name: "OLD_TOKEN", value: "hunter2" }]))
    const managedFields = [{ manager: "kubectl", fieldsV1 }]
    const object = { metadata: { name: "p", managedFields, annotations: { [manifest]: applied, a: "b" } }, ...pod([]) }
    const metadata = { name: "p", ...(isKept && { managedFields }), annotations: { a: "b" } }
    expect(redacted(object)).toEqual({ metadata, ...pod([]) })
  },
)
