/**
 * Finds what lifecycles need in the bytes of a Pod that the server sent, without parsing the rest, which is most of it: parsing a whole pod
 * of 4 kB takes three times as long as everything else the watcher does with it.
 *
 * The API server writes compact JSON with `spec` and `status` as the last members, in this order. A `"status":{` whose object ends one
 * brace before the pod's own end is that member: a quote inside a string has a backslash before it, and a deeper object leaves more than
 * one brace. By the same argument a `"spec":{` whose object ends where that member starts is the member before it. If the text does not
 * parse, it was not that member; a pod of any other form is parsed as a whole by the caller.
 */

import { exactJsonIn, isJsonObject, type JsonObject } from "../json/exact-json.ts"

const statusMember = Buffer.from('"status":{')
const specMember = Buffer.from('"spec":{')
const openingBrace = 0x7b
const closingBrace = 0x7d
const comma = 0x2c

/** The start of the member `status` that ends with the object `bytes[start, end)`, or −1 if the bytes do not have that form. */
export const findPodStatus = (bytes: Buffer, start: number, end: number): number => {
  if (bytes[end - 1] !== closingBrace) return -1
  const at = bytes.lastIndexOf(statusMember, end - statusMember.length)
  return at > start && isMember(bytes, at) ? at : -1
}

/** The status at `at`; `undefined` if it is not one after all. */
export const readPodStatus = (
  bytes: Buffer,
  at: number,
  end: number,
): Readonly<Record<string, unknown>> | undefined => {
  try {
    return JSON.parse(bytes.toString("utf8", at + statusMember.length - 1, end - 1)) as Readonly<
      Record<string, unknown>
    >
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

/** The member `spec` that ends where the status at `at` starts; `undefined` if the bytes do not have that form. */
export const readPodSpec = (bytes: Buffer, start: number, at: number): JsonObject | undefined => {
  const spec = bytes.indexOf(specMember, start)
  if (spec < 0 || spec > at || !isMember(bytes, spec)) return undefined
  const value = exactJsonIn(bytes.subarray(spec + specMember.length - 1, at - 1))
  return isJsonObject(value) ? value : undefined
}

/** A key, and not the end of a longer text. */
const isMember = (bytes: Buffer, at: number): boolean => bytes[at - 1] === comma || bytes[at - 1] === openingBrace
