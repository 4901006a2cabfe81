/**
 * What `fieldValidation=Strict` objects to in the text of a request: fields that occur twice and, where the type is known,
 * fields that do not exist. Only the text shows repetitions, and only one pass over it finds both kinds in the order in
 * which the server lists them.
 *
 * One pass without recursion: linear in the text, whatever its depth. The text must be JSON (JSON.parse took it); for
 * anything else the answer holds what was found before it stopped making sense. Nothing throws.
 */

import { type FieldPath, formatFieldPath } from "./field-path.ts"
import { goQuote } from "./go-quote.ts"
import type { KubernetesType } from "./kubernetes-type.ts"

/** The server stops collecting here (sigs.k8s.io/json, saveStrictError). */
const maximumProblems = 100

/** The server's JSON decoder takes this many levels and answers `exceeded max depth` for more. */
export const maximumDepth = 10_000

interface Frame {
  readonly isList: boolean
  /** What is inside; `undefined` when anything may be. */
  readonly type: KubernetesType | undefined
  readonly path: FieldPath | undefined
  /** Nothing inside is looked at: the field itself was unknown, or the server keeps its bytes unread. */
  readonly ignored: boolean
  readonly seen: Set<string> | undefined
  key: string
  keyType: KubernetesType | undefined
  keyIgnored: boolean
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
 * The problems of a built-in kind's text in the server's words and order: `duplicate field "spec.replicas"`,
 * `unknown field "spec.foo"`. At most 100, each once. Without a type only repetitions are found, and everywhere.
 */
export const strictProblems = (text: string, type?: KubernetesType): string[] => {
  const problems = new Set<string>()
  const frames: Frame[] = []
  let expectsKey = false
  let at = 0

  const report = (frame: Frame, problem: "duplicate" | "unknown"): void => {
    problems.add(`${problem} field ${goQuote(formatFieldPath(frame.path, frame.key))}`)
  }
  const open = (isList: boolean): void => {
    const parent = frames.at(-1)
    const path =
      parent === undefined ? undefined : { parent: parent.path, step: parent.isList ? parent.index : parent.key }
    const inside = parent === undefined ? type : parent.isList ? parent.type?.items : parent.keyType
    const expected = isList ? inside?.kind === "list" : inside?.kind === "object" || inside?.kind === "map"
    // A list where an object belongs is refused as a whole; the server looks at nothing in it.
    const mismatch = type !== undefined && !(expected && inside !== undefined && !inside.keepsUnknown)
    const ignored = parent?.ignored === true || parent?.keyIgnored === true || mismatch
    const seen = isList || ignored ? undefined : new Set<string>()
    frames.push({ isList, type: inside, path, ignored, seen, key: "", keyType: undefined, keyIgnored: false, index: 0 })
  }
  const takeKey = (frame: Frame, key: string): void => {
    frame.key = key
    frame.keyIgnored = false
    if (frame.seen === undefined) return
    if (frame.type !== undefined) {
      const fieldType = frame.type.kind === "map" ? frame.type.items : frame.type.fields.get(key)
      frame.keyType = fieldType
      if (fieldType === undefined) {
        frame.keyIgnored = true
        return report(frame, "unknown")
      }
    }
    if (frame.seen.has(key)) report(frame, "duplicate")
    else frame.seen.add(key)
  }

  while (at < text.length && problems.size < maximumProblems) {
    const code = text.charCodeAt(at)
    const frame = frames.at(-1)
    if (code === quote) {
      const end = stringEnd(text, at)
      if (expectsKey && frame !== undefined && !frame.ignored) {
        const key = decodeString(text, at, end)
        if (key === undefined) break
        takeKey(frame, key)
      }
      expectsKey = false
      at = end
      continue
    }
    if (code === openBrace || code === openBracket) {
      open(code === openBracket)
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

/** Fields that a text has twice, anywhere: `duplicate field "spec.replicas"`. At most 100, each once, in text order. */
export const duplicateFields = (text: string): string[] => strictProblems(text)

/**
 * What the server's parser says of a text whose lists and objects are nested deeper than {@link maximumDepth}:
 * `invalid character '[' exceeded max depth`; `undefined` for all others. Ask before parsing: what recurses over the parsed
 * value (JSON.stringify) is safe only below that.
 */
export const depthProblem = (text: string): string | undefined => {
  let depth = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === quote) at = stringEnd(text, at) - 1
    else if (code === openBrace || code === openBracket) {
      if (++depth > maximumDepth) return `invalid character '${text[at]}' exceeded max depth`
    } else if (code === closeBrace || code === closeBracket) depth--
  }
  return undefined
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
    return JSON.parse(text.slice(start, end)) as string
  } catch {
    return undefined
  }
}
