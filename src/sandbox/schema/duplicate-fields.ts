/**
 * Fields that occur twice in the text of a request, which `fieldValidation=Strict` refuses. Only the text shows them.
 *
 * One pass without recursion: linear in the text, whatever its depth. The text must be JSON that JSON.parse accepts;
 * for anything else the result contains what was found before the first error. Nothing throws.
 */

import type { KubernetesType } from "./kubernetes-type.ts"
import { formatSteps } from "./typed-value.ts"

/** The server stops collecting here (sigs.k8s.io/json, saveStrictError). */
export const maximumProblems = 100

/** The maximum depth of the server's JSON decoder. */
export const maximumDepth = 10_000

interface Frame {
  readonly isList: boolean
  /** `undefined` if the members are not read. */
  readonly seen: Set<string> | undefined
  readonly type: KubernetesType | undefined
  key: string
  index: number
}

const openBrace = 0x7b
const closeBrace = 0x7d
const openBracket = 0x5b
const closeBracket = 0x5d
const quote = 0x22
const backslash = 0x5c
const colon = 0x3a
const comma = 0x2c

/**
 * `duplicate field "spec.replicas"`, in the order of the text. At most {@link maximumProblems}, each once. With a type, the
 * parts that the server does not read (unknown fields, raw JSON) are skipped.
 */
export const duplicateFields = (text: string, type?: KubernetesType): string[] => {
  const problems = new Set<string>()
  const frames: Frame[] = []
  let expectsKey = false
  let at = 0
  while (at < text.length && problems.size < maximumProblems) {
    const code = text.charCodeAt(at)
    const frame = frames.at(-1)
    if (code === quote) {
      const end = stringEnd(text, at)
      if (expectsKey && frame?.seen !== undefined) {
        const key = decodeString(text, at, end)
        if (key === undefined) break
        frame.key = key
        if (frame.seen.has(key)) problems.add(`duplicate field ${JSON.stringify(formatSteps(frames.map(stepIn)))}`)
        else frame.seen.add(key)
      }
      expectsKey = false
      at = end
      continue
    }
    if (code === openBrace || code === openBracket) {
      const isList = code === openBracket
      const inside = frame === undefined ? type : memberType(frame)
      const isUnread =
        (frame !== undefined && frame.seen === undefined) || (type !== undefined && !isRead(inside, isList))
      frames.push({ isList, seen: isUnread ? undefined : new Set(), type: inside, key: "", index: 0 })
      expectsKey = code === openBrace
    } else if (code === closeBrace || code === closeBracket) {
      frames.pop()
      expectsKey = false
    } else if (code === comma && frame !== undefined) {
      if (frame.isList) frame.index++
      else expectsKey = true
    } else if (code === colon) expectsKey = false
    at++
  }
  return [...problems]
}

const stepIn = ({ isList, index, key }: Frame): string | number => (isList ? index : key)

const memberType = ({ type, isList, key }: Frame): KubernetesType | undefined =>
  isList || type?.kind === "map" ? type?.items : type?.fields.get(key)

/** A list where an object belongs is refused as a whole. */
const isRead = (type: KubernetesType | undefined, isList: boolean): boolean =>
  type !== undefined &&
  !type.keepsUnknown &&
  (isList ? type.kind === "list" : type.kind === "object" || type.kind === "map")

/**
 * Whether lists and objects are nested deeper than {@link maximumDepth}. Call it before parsing: recursion over the parsed
 * value (JSON.stringify) is safe only below that depth.
 */
export const isTooDeep = (text: string): boolean => {
  // Every level needs two characters at least.
  if (text.length <= 2 * maximumDepth) return false
  let depth = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === quote) at = stringEnd(text, at) - 1
    else if (code === openBrace || code === openBracket) {
      if (++depth > maximumDepth) return true
    } else if (code === closeBrace || code === closeBracket) depth--
  }
  return false
}

/** The index after the closing quote of the string that starts at `start`. */
const stringEnd = (text: string, start: number): number => {
  const end = text.indexOf('"', start + 1)
  if (end < 0) return text.length
  if (text.charCodeAt(end - 1) !== backslash) return end + 1
  let at = start + 1
  while (at < text.length) {
    const code = text.charCodeAt(at)
    if (code === quote) return at + 1
    at += code === backslash ? 2 : 1
  }
  return text.length
}

const decodeString = (text: string, start: number, end: number): string | undefined => {
  const raw = text.slice(start + 1, end - 1)
  if (!raw.includes("\\")) return raw
  try {
    return JSON.parse(text.slice(start, end))
  } catch {
    return undefined
  }
}
