/**
 * How the real server quotes a patch, or what has become of the object, in its 422: a strategic patch as Go prints a map; for
 * the others the patched JSON, in which only what the patch has opened has sorted keys (the rest is the old text).
 */

import type { KubernetesType } from "../kubernetes-type.ts"
import { goText } from "../patch/go-text.ts"
import type { JsonValue } from "../patch/json-value.ts"
import { isFields, own } from "../rules/fields.ts"
import type { Fields, MutableObject } from "../rules/kind-rules.ts"
import { makeDecodedType } from "../schema/make-type.ts"
import { strictProblems } from "../schema/strict-fields.ts"
import { jsonPatch, mergePatch, strategicPatch } from "./patched-document.ts"
import { mayRepeat } from "./repeated-members.ts"
import type { WriteRequest } from "./write-request.ts"

/** `before` and `after`, of the type, share what the patch has not opened. */
export const quotedPatch = (
  { contentType, body }: Pick<WriteRequest, "contentType" | "body">,
  type: KubernetesType,
  before: MutableObject,
  after: MutableObject,
): string => {
  if (contentType === strategicPatch) return goText(JSON.parse(body.toString("utf8")) as JsonValue)
  return documentText(type, before, after, contentType === mergePatch)
}

/** A merge patch opens its own objects too; the values of a JSON patch stay as they came. */
const documentText = (type: Type, before: unknown, after: unknown, opensNew: boolean): string => {
  if (!isFields(after)) return JSON.stringify(after)
  const old = isFields(before) ? before : undefined
  const isOpened = old === undefined ? opensNew : !isShared(old, after)
  const keys = Object.keys(after).filter((key) => after[key] !== undefined)
  // Go's maps are written sorted, its structs as they are declared.
  if (isOpened || type?.kind === "map") keys.sort()
  const members = keys.map((key) => {
    const text = documentText(type?.fields.get(key) ?? type?.items, own(old, key), after[key], opensNew)
    return `${JSON.stringify(key)}:${text}`
  })
  return `{${members.join(",")}}`
}

type Type = KubernetesType | undefined

const isShared = (before: Fields, after: Fields): boolean => {
  if (before === after) return true
  const keys = Object.keys(after)
  return keys.length === Object.keys(before).length && keys.every((key) => own(before, key) === after[key])
}

const text = makeDecodedType("string", "string")
const operation = makeDecodedType("object", "handlers.jsonPatchOp", {
  fields: new Map([
    ["op", text],
    ["path", text],
    ["from", text],
    ["value", makeDecodedType("any", "interface {}")],
  ]),
})
const operations = makeDecodedType("list", "[]handlers.jsonPatchOp", { items: operation })

/** What strict decoding says of the patch itself, in the server's words; empty for nothing. */
export const patchProblems = (contentType: string, body: Buffer): ReadonlyArray<string> => {
  const patch = body.toString("utf8")
  if (contentType === jsonPatch) return strictProblems(patch, operations).map((problem) => `json patch ${problem}`)
  return mayRepeat(patch, JSON.parse(patch)) ? strictProblems(patch) : []
}
