/**
 * Writes the input of kwok's replay (`kwokctl snapshot replay`, checked with kwok 0.7): the start snapshot as plain objects, then one
 * `ResourcePatch` document per change, with its offset from the start of the trace.
 *
 * - Objects are sanitised for replay (replay-object.ts). A change of which nothing is left then is not written.
 * - An object that does not exist yet is a `create` with the whole object; a change is a `patch` with the strategic merge patch to its new
 *   state, or, if no such patch exists, again a `create`, with which kwok's replay replaces the object. For custom kinds it never does: how
 *   kwok would merge their fields is not known, and a merge patch cannot express the nulls that they may have.
 * - Offsets are nanoseconds and increase by at least 1: kwok sorts its input with a heap, which would reorder simultaneous changes.
 *
 * Memory: the last state of every live object, as JSON. A comment in the first line has the facts that the documents cannot hold (window,
 * kinds); kwok ignores it.
 */

import type { ObjectEvent } from "../../event.ts"
import {
  formatExactJson,
  IntegralFloat,
  isIntegerNumber,
  isJsonList,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  MAX_DEPTH,
  MalformedJsonError,
  parseExactJson,
} from "../../json/exact-json.ts"
import { isDeeper } from "../../json/members.ts"
import { isBuiltInKind } from "../../sanitising/built-in-kinds.ts"
import { type IsInTrace, replayObject } from "../../sanitising/replay-object.ts"
import type { TraceHeader, TraceItem } from "../../trace-item.ts"
import { countIncomplete, type LeftOut, type TraceEncoder, type TraceFacts, UnwritableTraceError } from "../format.ts"
import { type ResourceName, ResourceNames } from "./resource-names.ts"
import { API_VERSION, FORMAT, formatHeader, KIND, keyOf, type PatchMethod } from "./resource-patch.ts"
import { strategicDiff } from "./strategic-diff.ts"

// Writes JSON values as block YAML that YAML 1.1 and 1.2 readers understand alike: a string is plain only if no version reads it as
// anything else; all others are quoted with JSON's escapes. Characters that YAML treats as unprintable or as a line break are escaped, so
// that one string stays one line.

/** Words, paths and names; neither numbers nor anything that starts like an indicator. */
const PLAIN = /^[A-Za-z/][A-Za-z0-9_./-]*$/
/** Words that YAML 1.1 reads as a boolean or null. */
const RESERVED = /^(?:y|n|yes|no|on|off|true|false|null)$/i
/** Characters that JSON does not escape; the last are U+FFFE and U+FFFF. */
const UNPRINTABLE = /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g
/** libyaml and its descendants accept no longer key in the short form (1,024 characters). */
const LONGEST_KEY = 1_000

/** The lines of a non-empty object, each with its line feed and with `pad` in front. */
export const formatYaml = (object: JsonObject, pad = ""): string => {
  let text = ""
  for (const [key, member] of Object.entries(object)) {
    const name = formatString(key)
    const value = formatValue(member, pad)
    text += name.length > LONGEST_KEY ? `${pad}? ${name}\n${pad}:${value}` : `${pad}${name}:${value}`
  }
  return text
}

/** The text after a colon, including its line feed. */
const formatValue = (value: JsonValue, pad: string): string => {
  if (isJsonObject(value)) return Object.keys(value).length === 0 ? " {}\n" : `\n${formatYaml(value, `${pad}  `)}`
  if (isJsonList(value)) return value.length === 0 ? " []\n" : `\n${formatList(value, pad)}`
  return ` ${formatScalar(value)}\n`
}

/** As Kubernetes writes them: the dashes are at the indentation of the key. */
const formatList = (list: ReadonlyArray<JsonValue>, pad: string): string => {
  let text = ""
  const inner = `${pad}  `
  for (const item of list) {
    if (isJsonObject(item) && Object.keys(item).length > 0)
      text += `${pad}- ${formatYaml(item, inner).slice(inner.length)}`
    else if (isJsonList(item) && item.length > 0) text += `${pad}- ${formatList(item, inner).slice(inner.length)}`
    else text += `${pad}-${formatValue(item, pad)}`
  }
  return text
}

const formatScalar = (value: JsonValue): string => {
  if (typeof value === "string") return formatString(value)
  if (value instanceof IntegralFloat) return `${value.value}.0`
  if (typeof value !== "number" || isIntegerNumber(value)) return String(value)
  if (Object.is(value, -0)) return "-0.0"
  const digits = String(value)
  return Number.isInteger(value) && !digits.includes("e") ? `${digits}.0` : digits
}

const formatString = (text: string): string => {
  if (PLAIN.test(text) && !RESERVED.test(text)) return text
  return JSON.stringify(text.toWellFormed()).replaceAll(
    UNPRINTABLE,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  )
}

/** A piece is returned once it is this full. */
const CHUNK_BYTES = 64 * 1024

/** Without `facts`, owner references are kept only to objects that exist at that moment. */
export const kwokEncoder = (facts?: Pick<TraceFacts, "isInTrace">): TraceEncoder => new KwokEncoder(facts)

class KwokEncoder implements TraceEncoder {
  readonly #states = new Map<string, Buffer>()
  readonly #names = new ResourceNames()
  readonly #isInTrace: IsInTrace
  #text = ""
  #header: TraceHeader | undefined
  #base: number | undefined
  #lastOffset = -1n
  #hasDocument = false
  #hasPatch = false
  #gaps = 0
  #unchanged = 0

  constructor(facts: Pick<TraceFacts, "isInTrace"> | undefined) {
    this.#isInTrace = facts?.isInTrace ?? ((gvk, namespace, name) => this.#states.has(keyOf(gvk, namespace, name)))
  }

  get leftOut(): LeftOut {
    const incomplete = countIncomplete(this.#header?.incomplete ?? [])
    return { gaps: this.#gaps, incomplete, objects: new Map(), unchanged: this.#unchanged, warnings: [] }
  }

  add(item: TraceItem): void {
    if (item.type === "header") {
      this.#header = item
      // A window that starts at 0 is replaced by the time of the first change: kwok would wait 56 years for it.
      if (item.window !== undefined && item.window.start > 0) this.#base = item.window.start
    } else if (this.#header === undefined) throw unwritable("the trace does not begin with its header")
    else if (item.type === "batch") this.#base ??= item.time
    else if (item.type === "event") {
      if (item.event.type === "gap") this.#gaps++
      else this.#event(item.event, item.isSnapshot)
    }
  }

  take(): Uint8Array | undefined {
    return this.#text.length >= CHUNK_BYTES ? this.#taken() : undefined
  }

  finish(): Iterable<Uint8Array> {
    if (this.#header === undefined) throw unwritable("the trace does not begin with its header")
    this.#begin()
    return [this.#taken()]
  }

  #event(event: ObjectEvent, isSnapshot: boolean): void {
    const { gvk, namespace, name, action } = event
    // Neither kwok nor our reader could tell which object such a document is about.
    if (name === "") throw unwritable(`an object of kind ${JSON.stringify(gvk)} has no name`)
    this.#base ??= event.time
    const key = keyOf(gvk, namespace, name)
    const former = this.#states.get(key)
    if (action !== "applied") {
      if (former === undefined) return
      this.#states.delete(key)
      return this.#patch(event, "delete")
    }
    const object = parsed(event.object)
    if (!isJsonObject(object)) throw unwritable(`${gvk} ${namespace}/${name} is not an object`)
    // Our reader accepts no more in a document, of which the object is a member.
    if (isDeeper(object, MAX_DEPTH - 1))
      throw unwritable(`${gvk} ${namespace}/${name} has more than ${MAX_DEPTH - 1} levels`)
    this.#names.learn(gvk, object)
    const state = replayObject(gvk, object, this.#isInTrace)
    const json = Buffer.from(formatExactJson(state))
    this.#states.set(key, json)
    if (former === undefined) {
      if (isSnapshot && !this.#hasPatch) this.#snapshotObject(event, state)
      else this.#patch(event, "create", state)
      return
    }
    if (former.equals(json)) {
      this.#unchanged++
      return
    }
    const before = isBuiltInKind(gvk) ? parsed(former) : undefined
    const patch = isJsonObject(before) ? strategicDiff(gvk, before, state) : undefined
    if (patch === undefined) this.#patch(event, "create", state)
    else if (Object.keys(patch).length > 0) this.#patch(event, "patch", patch)
    else this.#unchanged++
  }

  #patch({ gvk, namespace, name, time }: ObjectEvent, method: PatchMethod, template?: JsonObject): void {
    const { group, version, resource } = this.#resourceOf(gvk)
    const offset = BigInt(Math.max(0, time - (this.#base ?? time))) * 1000n
    this.#lastOffset = offset > this.#lastOffset ? offset : this.#lastOffset + 1n
    this.#hasPatch = true
    this.#document({
      apiVersion: API_VERSION,
      kind: KIND,
      resource: { ...(group !== "" && { group }), version, resource },
      target: { name, ...(namespace !== "" && { namespace }) },
      durationNanosecond: this.#lastOffset,
      method,
      ...(template !== undefined && { template }),
    })
  }

  #snapshotObject({ gvk, namespace, name }: ObjectEvent, state: JsonObject): void {
    // A plain object is read back by its own kind, namespace and name: the document says nothing else about it.
    this.#resourceOf(gvk)
    const { metadata } = state
    if (!isJsonObject(metadata) || metadata.name !== name || (metadata.namespace ?? "") !== namespace)
      throw unwritable(`${gvk} ${name} has another name or namespace in its metadata`)
    this.#document(state)
  }

  /** Throws UnwritableTraceError if the text is not a GVK. */
  #resourceOf(gvk: string): ResourceName {
    const resource = this.#names.of(gvk)
    if (resource === undefined) throw unwritable(`${JSON.stringify(gvk)} is not a kind`)
    return resource
  }

  #document(document: JsonObject): void {
    this.#begin()
    // kwok warns about a document that has only a comment, so no separator precedes the first one.
    if (this.#hasDocument) this.#text += "---\n"
    this.#hasDocument = true
    this.#text += formatYaml(document)
  }

  #begin(): void {
    if (this.#hasDocument || this.#text !== "" || this.#header === undefined) return
    this.#text = formatHeader(this.#base ?? 0, this.#header)
  }

  #taken(): Uint8Array {
    const piece = Buffer.from(this.#text)
    this.#text = ""
    return piece
  }
}

const parsed = (json: Uint8Array): ReturnType<typeof parseExactJson> => {
  try {
    return parseExactJson(json)
  } catch (error) {
    throw error instanceof MalformedJsonError ? unwritable(error.message) : error
  }
}

const unwritable = (detail: string): UnwritableTraceError => new UnwritableTraceError({ format: FORMAT, detail })
