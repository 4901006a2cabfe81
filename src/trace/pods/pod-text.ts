/**
 * Finds what lifecycles need in the bytes of a Pod that the server sent, without reading the rest, which is most of it: a whole
 * pod of 4 kB takes as long to parse as everything else the watcher does with it three times over.
 *
 * The API server writes compact JSON with `spec` and `status` as the last members, in this order. A `"status":{` whose
 * object ends one brace before the pod's own end is that member: a quote inside of a string has a backslash before it, and
 * what nests deeper leaves more than one brace. By the same argument a `"spec":{` whose object ends where that member
 * begins is the member beside it. What does not parse was none of these; whatever looks otherwise is read as a whole by the caller.
 */

import { isJsonObject, type JsonObject, MalformedJsonError, parseExactJson } from "../json/exact-json.ts"

const statusMember = Buffer.from('"status":{')
const specMember = Buffer.from('"spec":{')
const openingBrace = 0x7b
const closingBrace = 0x7d
const comma = 0x2c

/** Where the member `status` begins that ends with the object `bytes[start, end)`, or −1: then nothing is said of the pod. */
export const findPodStatus = (bytes: Buffer, start: number, end: number): number => {
  if (bytes[end - 1] !== closingBrace) return -1
  const at = bytes.lastIndexOf(statusMember, end - statusMember.length)
  return at > start && isMember(bytes, at) ? at : -1
}

/** The status at `at`; `undefined` if it is none after all. */
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

/** The member `spec` that ends where the status at `at` begins; `undefined` if it looks otherwise. */
export const readPodSpec = (bytes: Buffer, start: number, at: number): JsonObject | undefined => {
  const spec = bytes.indexOf(specMember, start)
  if (spec < 0 || spec > at || !isMember(bytes, spec)) return undefined
  try {
    const value = parseExactJson(bytes.subarray(spec + specMember.length - 1, at - 1))
    return isJsonObject(value) ? value : undefined
  } catch (error) {
    if (error instanceof MalformedJsonError) return undefined
    throw error
  }
}

/** A key, and not the end of a longer text. */
const isMember = (bytes: Buffer, at: number): boolean => bytes[at - 1] === comma || bytes[at - 1] === openingBrace
