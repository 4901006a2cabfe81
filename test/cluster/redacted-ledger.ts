/**
 * A ledger as a recording with redacted values has to be. Written from docs/reference/configuration.md, without looking at the recorder's
 * code, which works on bytes; this one replaces members of parsed JSON.
 */
import { createHmac } from "node:crypto"
import { isObject, type Json, type JsonObject, textAt } from "./exact-json.ts"
import type { LedgerLine } from "./ledger.ts"

const manifest = "kubectl.kubernetes.io/last-applied-configuration"

/**
 * The ledger with hashes in place of passwords in environment variables, the only values of the scripted workload that a default rule names.
 * @param key the text of the recorder's `redaction.key`.
 */
export const redactedLedger = (ledger: readonly LedgerLine[], key: string): LedgerLine[] =>
  ledger.map((line) => (line.line === "list" ? line : { ...line, object: redacted(line.object, key) }))

const redacted = (object: JsonObject, key: string): JsonObject => {
  let isFound = false
  const replaced = (value: Json | undefined, isVariable: boolean): Json => {
    if (Array.isArray(value)) return value.map((each: Json) => replaced(each, isVariable))
    if (!isObject(value)) return value ?? null
    const plain = textAt(value, "value")
    if (isVariable && plain !== "" && /password/i.test(textAt(value, "name"))) {
      isFound = true
      return { ...value, value: `redacted:${createHmac("sha256", key).update(plain).digest("hex").slice(0, 16)}` }
    }
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, replaced(each, name === "env")]))
  }
  const result = replaced(object, false)
  return isFound && isObject(result) ? withoutCopies(result) : object
}

/** Without the places that have the values too. Annotations of which nothing is left are absent. */
const withoutCopies = (object: JsonObject): JsonObject => {
  const { metadata } = object
  if (!isObject(metadata)) return object
  const { managedFields: _managedFields, ...rest } = metadata
  if (!isObject(rest.annotations)) return { ...object, metadata: rest }
  const { [manifest]: _manifest, ...annotations } = rest.annotations
  const isEmptied = manifest in rest.annotations && Object.keys(annotations).length === 0
  return { ...object, metadata: { ...rest, annotations: isEmptied ? undefined : annotations } }
}
