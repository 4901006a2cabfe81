/**
 * JSON patch (RFC 6902) as the Kubernetes API server applies it, which deviates from the RFC: `replace` of an absent
 * member adds it, negative indices count from the end, and `copy` of an absent member copies null.
 *
 * Written here because the server's responses depend on these, and because existing libraries share values between
 * places or write through `__proto__`. Parts that no operation changes are shared with the document; arguments are
 * not changed.
 *
 * Under load: at most 10,000 operations, and at most 3 MiB of copies, because each `copy` may double a document.
 */

import { memberOf } from "../../../own-member.ts"
import { PatchError } from "../patch-failure.ts"
import { applyOperation, type JsonPatchOperation, PatchedDocument, type PatchProblem } from "./json-patch-document.ts"
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue, jsonTypeOf } from "./json-value.ts"

/** The server's limit. */
const MAX_JSON_PATCH_OPERATIONS = 10_000

/**
 * The document after all operations.
 *
 * @throws PatchError 400 for anything but a list of operations, 413 for more than {@link MAX_JSON_PATCH_OPERATIONS}, 422 for an
 * operation that the document does not allow, a failed `test` among them
 */
export const applyJsonPatch = (document: JsonValue, operations: unknown): JsonValue => {
  const decoded = decodeOperations(operations as JsonValue)
  if (decoded.length > MAX_JSON_PATCH_OPERATIONS) {
    const problem = `a JSON patch may have at most ${MAX_JSON_PATCH_OPERATIONS} operations, not ${decoded.length}`
    throw new PatchError({ code: 413, problem })
  }
  const patched = new PatchedDocument(document)
  for (const operation of decoded) {
    const problem: PatchProblem | undefined = applyOperation(patched, operation)
    if (problem !== undefined) throw new PatchError({ code: 422, problem })
  }
  return patched.root
}

const decodeOperations = (operations: JsonValue): ReadonlyArray<JsonPatchOperation> => {
  if (operations === null) return []
  if (!isJsonArray(operations)) throw wrongType("the patch", "a list", operations)
  return operations.map((operation) => {
    if (operation === null) return {}
    if (!isJsonObject(operation)) throw wrongType("an operation", "an object", operation)
    const text = (field: "op" | "path" | "from"): string | undefined => textField(operation, field)
    return { op: text("op"), path: text("path"), from: text("from"), value: memberOf(operation, "value") }
  })
}

const textField = (operation: JsonObject, field: string): string | undefined => {
  const value = memberOf(operation, field) ?? null
  if (value === null) return undefined
  if (typeof value !== "string") throw wrongType(field, "a string", value)
  return value
}

const wrongType = (what: string, expected: string, value: JsonValue): PatchError =>
  new PatchError({ code: 400, problem: `${what} must be ${expected}, not ${jsonTypeOf(value)}` })
