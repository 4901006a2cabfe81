/**
 * The order in which Go writes the members of a built-in kind: that of its struct, which the protobuf descriptors tell.
 * Needs those descriptors, which are read from disk once, so this is nothing for the path of every request.
 */

import { apiVersionOf, type GroupVersionKind } from "../../kube/gvk.ts"
import { protobufDescriptors } from "./descriptors.ts"

/** A struct: where each member stands in it, and what struct its value, or the value's items, are. */
export type MemberOrder = ReadonlyMap<string, { readonly place: number; readonly message: string }>

const known = new Map<string, MemberOrder>()

/** `undefined` for kinds and types that are no struct of the server. */
export const memberOrderOf = (message: string | undefined): MemberOrder | undefined => {
  if (message === undefined) return undefined
  const found = known.get(message)
  if (found !== undefined) return found
  if (!protobufDescriptors().messages.has(message)) return undefined
  const members: Array<[string, string]> = typeMembers.map((name) => [name, ""])
  addMembers(message, members)
  const order: MemberOrder = new Map(members.map(([name, type], place) => [name, { place, message: type }]))
  known.set(message, order)
  return order
}

/** The struct of a kind; `undefined` for a custom one. */
export const messageOf = (gvk: GroupVersionKind): string | undefined =>
  protobufDescriptors().kinds.get(`${apiVersionOf(gvk)}.${gvk.kind}`)

/** Protobuf knows them not; in JSON they come first wherever they are. */
const typeMembers = ["kind", "apiVersion"]

const addMembers = (message: string, members: Array<[string, string]>): void => {
  for (const { name, type, isInline } of protobufDescriptors().messages.get(message) ?? []) {
    if (isInline) addMembers(type, members)
    else members.push([name, type])
  }
}
