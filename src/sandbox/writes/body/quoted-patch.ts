/**
 * How the real server quotes a patch, or what has become of the object, in its 422: a strategic patch as Go prints a map; for
 * the others the patched JSON. In that, what the patch has opened has sorted keys, what it has brought stands as it came, and
 * the rest is the old text: Go's structs in their own order, custom objects sorted.
 */

import { goText } from "../../patch/json/go-text.ts"
import type { JsonValue } from "../../patch/json/json-value.ts"
import { type MemberOrder, memberOrderOf, messageOf } from "../../protobuf/member-order.ts"
import { isFields, own } from "../../rules/fields.ts"
import type { Fields, MutableObject } from "../../rules/kind-rules.ts"
import type { KubernetesType } from "../../schema/kubernetes-type.ts"
import { makeDecodedType } from "../../schema/make-type.ts"
import { strictProblems } from "../../schema/strict-fields.ts"
import type { WriteRequest } from "../write-request.ts"
import { jsonPatch, mergePatch, strategicPatch } from "./patched-document.ts"
import { mayRepeat } from "./repeated-members.ts"

/** `before` and `after`, of the type, share what the patch has not opened. */
export const quotedPatch = (
  { contentType, body, resource }: Pick<WriteRequest, "contentType" | "body" | "resource">,
  type: KubernetesType,
  before: MutableObject,
  after: MutableObject,
): string => {
  if (contentType === strategicPatch) return goText(JSON.parse(body.toString("utf8")) as JsonValue)
  const opensNew = contentType === mergePatch
  if (resource.custom === true) return documentText({ type, sorts: true }, before, after, opensNew)
  return documentText({ type, message: messageOf(resource.gvk), sorts: false }, before, after, opensNew)
}

/** What is known of a value. */
interface Place {
  readonly type: KubernetesType | undefined
  /** The struct of the value or of its items. */
  readonly message?: string | undefined
  /** All of it is sorted, whoever wrote it. */
  readonly sorts: boolean
}

/** A merge patch opens its own objects too; the values of a JSON patch stay as they came. */
const documentText = (place: Place, before: unknown, after: unknown, opensNew: boolean): string => {
  if (Array.isArray(after)) {
    const old: ReadonlyArray<unknown> = Array.isArray(before) ? before : []
    const [olds, news] = [new Set(old), new Set<unknown>(after)]
    const items = after.map((item: unknown, index) => {
      // Items that a patch has moved are still the old ones, and what has taken their place is not.
      const earlier = olds.has(item) ? item : news.has(old[index]) ? undefined : old[index]
      return documentText({ ...place, type: place.type?.items }, earlier, item, opensNew)
    })
    return `[${items.join(",")}]`
  }
  if (!isFields(after)) return JSON.stringify(after)
  const old = isFields(before) ? before : undefined
  const { type, message, sorts } = place
  const members = keysInOrder(place, old, after, opensNew).map((key) => {
    const member = {
      type: type?.fields.get(key) ?? type?.items,
      message: type?.kind === "map" ? message : memberOrderOf(message)?.get(key)?.message,
      sorts,
    }
    return `${JSON.stringify(key)}:${documentText(member, own(old, key), after[key], opensNew)}`
  })
  return `{${members.join(",")}}`
}

/** Go's maps are written sorted, its structs as they are declared. */
const keysInOrder = (place: Place, old: Fields | undefined, after: Fields, opensNew: boolean): string[] => {
  const keys = Object.keys(after).filter((key) => after[key] !== undefined)
  const isOpened = old === undefined ? opensNew : !isShared(old, after)
  if (isOpened || place.sorts || place.type?.kind === "map") return keys.sort()
  const order = old === undefined ? undefined : memberOrderOf(place.message)
  return order === undefined ? keys : keys.sort((left, right) => placeIn(order, left) - placeIn(order, right))
}

const placeIn = (order: MemberOrder, key: string): number => order.get(key)?.place ?? order.size

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
