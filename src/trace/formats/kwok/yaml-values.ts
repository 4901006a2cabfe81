/**
 * Reads a YAML document as a value of exact JSON. Numbers are read from their digits, so that large integers and `1.0` stay unchanged.
 * Anchors and custom tags are rejected: no writer of these files uses them, and an anchor can expand to gigabytes.
 */

import * as Schema from "effect/Schema"
import { isAlias, isMap, isScalar, isSeq, type Node, parseDocument, type Scalar } from "yaml"
import { type JsonValue, MAX_DEPTH, MalformedJsonError, parseExactJson, withProperty } from "../../json/exact-json.ts"

/** Why a document cannot be read as a value. */
export class YamlValueError extends Schema.TaggedError<YamlValueError>()("YamlValueError", {
  /** UTF-16 code units from the start of the document. */
  offset: Schema.Int,
  /** Quotes content only where the YAML parser's message does. */
  detail: Schema.String,
}) {
  override get message(): string {
    return this.detail
  }
}

/** The value of one document. Throws {@link YamlValueError}. */
export const yamlValue = (text: string): JsonValue => {
  const document = parseDocument(text, { intAsBigInt: true, prettyErrors: false, strict: true, uniqueKeys: true })
  const [error] = document.errors
  // The library recurses with the nesting, and a few hundred levels exhaust its stack.
  if (error?.code === "RESOURCE_EXHAUSTION") throw new YamlValueError({ offset: 0, detail: "it is nested too deeply" })
  if (error !== undefined) throw new YamlValueError({ offset: error.pos[0], detail: error.message })
  return document.contents === null ? null : nodeValue(document.contents, 0)
}

const nodeValue = (node: Node | null | undefined, depth: number): JsonValue => {
  const at = node?.range?.[0] ?? 0
  if (node === null || node === undefined) return null
  if (isAlias(node)) throw new YamlValueError({ offset: at, detail: "an alias" })
  if (isScalar(node)) return scalarOf(node, at)
  if (depth >= MAX_DEPTH) throw new YamlValueError({ offset: at, detail: `more than ${MAX_DEPTH} levels` })
  if (isSeq(node)) return node.items.map((item) => nodeValue(item as Node | null, depth + 1))
  if (!isMap(node)) throw new YamlValueError({ offset: at, detail: "a node that is not a map, list or scalar" })
  let object: Record<string, JsonValue> = {}
  for (const { key, value } of node.items) {
    if (!isScalar(key)) throw new YamlValueError({ offset: at, detail: "a key that is not a string" })
    object = withProperty(object, keyOf(key), nodeValue(value as Node | null, depth + 1))
  }
  return object
}

/** Kubernetes' reader accepts any scalar as a key, with its source text. */
const keyOf = (key: Scalar): string => (typeof key.value === "string" ? key.value : (key.source ?? String(key.value)))

const scalarOf = (node: Scalar, at: number): JsonValue => {
  const { value, source } = node
  if (value === null || typeof value === "boolean" || typeof value === "string") return value
  if (typeof value !== "number" && typeof value !== "bigint")
    throw new YamlValueError({ offset: at, detail: "a scalar of another type" })
  try {
    return parseExactJson(source ?? String(value))
  } catch (error) {
    if (!(error instanceof MalformedJsonError)) throw error
    // Hexadecimal, a leading plus or dot: numbers that JSON writes differently.
    if (typeof value === "number" && !Number.isFinite(value))
      throw new YamlValueError({ offset: at, detail: "a number that is not finite" })
    return numberOf(String(value), at)
  }
}

/** Integers may be longer than those of any trace: exact JSON has a limit. */
const numberOf = (text: string, at: number): JsonValue => {
  try {
    return parseExactJson(text)
  } catch (error) {
    if (!(error instanceof MalformedJsonError)) throw error
    throw new YamlValueError({
      offset: at,
      detail: `a number of ${text.length} characters, beyond what a trace can hold`,
    })
  }
}
