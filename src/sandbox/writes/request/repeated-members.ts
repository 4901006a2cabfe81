/**
 * JSON whose objects name a member twice, as Go decodes it into a struct: the second value is decoded into the first, so that
 * objects merge and everything else is replaced. `JSON.parse` keeps only the last value.
 */

import { isRecord } from "../../../is-record.ts"
import { memberOf, setMember } from "../../../own-member.ts"
import { duplicateFields } from "../../schema/duplicate-fields.ts"

interface Frame {
  readonly value: Record<string, unknown> | unknown[]
  key: string | undefined
}

const tokens = /[{}[\],:]|"(?:[^"\\]|\\.)*"|[^\s{}[\],:"]+/g

/** The value of a text that `JSON.parse` reads as `value`, with duplicate members merged. */
export const withMergedMembers = (text: string, value: unknown): unknown =>
  duplicateFields(text).length === 0 ? value : mergedValue(text)

const mergedValue = (text: string): unknown => {
  const frames: Frame[] = []
  let root: unknown
  const place = (value: unknown): void => {
    const frame = frames.at(-1)
    if (frame === undefined) root = value
    else if (Array.isArray(frame.value)) frame.value.push(value)
    else setMember(frame.value, frame.key ?? "", value)
  }
  for (const [token] of text.matchAll(tokens)) {
    const frame = frames.at(-1)
    const isObject = frame !== undefined && !Array.isArray(frame.value)
    if (token === "{") {
      const old = isRecord(frame?.value) ? memberOf(frame.value, frame.key ?? "") : undefined
      const value = isRecord(old) ? old : {}
      place(value)
      frames.push({ value, key: undefined })
    } else if (token === "[") {
      const value: unknown[] = []
      place(value)
      frames.push({ value, key: undefined })
    } else if (token === "}" || token === "]") frames.pop()
    else if (token === ",") {
      if (isObject) frame.key = undefined
    } else if (token !== ":") {
      const value: unknown = JSON.parse(token)
      if (isObject && frame.key === undefined) frame.key = String(value)
      else place(value)
    }
  }
  return root
}
