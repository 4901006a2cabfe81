/**
 * Reads a recording written by kwok or by this program: plain objects first (the start snapshot), then `ResourcePatch` documents. Deltas
 * are turned into whole objects, as the replay would; the JSON of an object is compact, its entries in the order of the file.
 *
 * A file of kwok's own gives neither the time of the recording nor its kinds: its times then count from 1970. Memory: one document, and the
 * last state of every live object.
 */

import { formatExactJson, isJsonObject, type JsonObject, type JsonValue } from "../../json/exact-json.ts"
import { memberIn, objectIn, textIn } from "../../json/members.ts"
import { StrategicMergeError } from "../../strategic-merge/merge-rules.ts"
import { strategicMerge } from "../../strategic-merge/strategic-merge.ts"
import type { TraceHeader, TraceItem } from "../../trace-item.ts"
import { BadTraceError, type TraceDecoder } from "../format.ts"
import { ResourceNames } from "./resource-names.ts"
import { API_VERSION, FORMAT, KIND, type PatchMethod, readHeader } from "./resource-patch.ts"
import { mergeRulesOf } from "./strategic-diff.ts"
import { MAX_DOCUMENT_BYTES, type YamlDocument, YamlDocuments, YamlValueError, yamlValue } from "./yaml-documents.ts"

export const kwokDecoder = (): TraceDecoder => new KwokDecoder()

interface Live {
  readonly gvk: string
  object: JsonObject
}

/** kwok writes times in objects relative to the recording, and makes them absolute again at replay. */
const RELATIVE_TIME = /\$\(time-offset-nanosecond (-?\d+)\)/g
const METHODS: ReadonlyArray<PatchMethod> = ["create", "patch", "delete"]

class KwokDecoder implements TraceDecoder {
  readonly #documents = new YamlDocuments()
  readonly #names = new ResourceNames()
  /** Keyed by `group/version/resource namespace name`. */
  readonly #live = new Map<string, Live>()
  #base = 0
  #sequence = 0
  #hasHeader = false
  #hasPatch = false;

  *push(chunk: Uint8Array): Generator<TraceItem> {
    for (const document of this.#documents.push(chunk)) yield* this.#read(document)
    if (this.#documents.isTooLong)
      throw bad(this.#documents.offset, `a document of more than ${MAX_DOCUMENT_BYTES} bytes`)
  }

  *end(): Generator<TraceItem> {
    for (const document of this.#documents.end()) yield* this.#read(document)
    if (!this.#hasHeader) throw bad(0, "there is no document")
  }

  *#read({ text, offset }: YamlDocument): Generator<TraceItem> {
    if (!this.#hasHeader) {
      const header = this.#header(text, offset)
      yield header
      // Without a window, this gives the start of the trace.
      if (header.window === undefined && this.#base > 0) yield { type: "batch", time: this.#base }
    }
    const value = documentValue(text, offset)
    // The document has only comments.
    if (value === null) return
    if (!isJsonObject(value)) throw bad(offset, "a document that is not an object")
    const document = this.#absolute(value) as JsonObject
    const apiVersion = textIn(document, "apiVersion")
    const kind = textIn(document, "kind")
    if (apiVersion === "" || kind === "") throw bad(offset, "a document without apiVersion or kind")
    if (apiVersion === API_VERSION && kind === KIND) yield this.#patch(document, offset)
    else yield this.#snapshotObject(`${apiVersion}.${kind}`, document, offset)
  }

  #header(text: string, offset: number): TraceItem & { readonly type: "header" } {
    this.#hasHeader = true
    const none: TraceHeader = { cut: 0, kinds: [], incomplete: [], sanitised: "replay" }
    const facts = readHeader(text)
    if (facts === "none") return { type: "header", ...none, sanitised: "none" }
    if (facts === "bad") throw bad(offset, "the comment in the first line is invalid")
    this.#base = facts.start
    return { type: "header", ...none, ...facts.header }
  }

  #snapshotObject(gvk: string, object: JsonObject, offset: number): TraceItem {
    if (this.#hasPatch) throw bad(offset, "an object after the first ResourcePatch")
    this.#names.learn(gvk, object)
    const metadata = memberIn(object, "metadata")
    const [namespace, name] = [textIn(metadata, "namespace"), textIn(metadata, "name")]
    if (name === "") throw bad(offset, "an object without a name")
    const resource = this.#names.of(gvk)
    if (resource === undefined) throw bad(offset, "apiVersion and kind are not those of a Kubernetes object")
    this.#live.set(addressOf(resource.group, resource.version, resource.resource, namespace, name), { gvk, object })
    return this.#event({ gvk, namespace, name, object, time: this.#base, action: "applied", isSnapshot: true })
  }

  #patch(document: JsonObject, offset: number): TraceItem {
    this.#hasPatch = true
    const fail = (detail: string): BadTraceError => bad(offset, `a ResourcePatch ${detail}`)
    const resource = objectIn(document, "resource")
    const target = objectIn(document, "target")
    const method = METHODS.find((known) => known === document.method)
    if (resource === undefined || target === undefined) throw fail("without resource or target")
    if (method === undefined) throw fail(`whose method is not one of ${METHODS.join(", ")}`)
    const [namespace, name] = [textIn(target, "namespace"), textIn(target, "name")]
    const [group, version] = [textIn(resource, "group"), textIn(resource, "version")]
    const plural = textIn(resource, "resource")
    if (name === "" || version === "" || plural === "") throw fail("without name, version or resource")
    const address = addressOf(group, version, plural, namespace, name)
    const time = this.#base + microsecondsOf(document, fail)
    const live = this.#live.get(address)
    const template = objectIn(document, "template")
    if (method === "delete") {
      this.#live.delete(address)
      if (live === undefined) throw fail("deletes an object that does not exist")
      const { gvk, object } = live
      return this.#event({ gvk, namespace, name, object, time, action: "deleted", isSnapshot: false })
    }
    if (template === undefined) throw fail("without template")
    if (method === "patch" && live === undefined) throw fail("changes an object that does not exist")
    const object = method === "patch" && live !== undefined ? patched(live, template, fail) : template
    const gvk = `${textIn(object, "apiVersion")}.${textIn(object, "kind")}`
    if (gvk.startsWith(".") || gvk.endsWith(".")) throw fail("creates an object without apiVersion or kind")
    this.#names.learn(gvk, object)
    this.#live.set(address, { gvk, object })
    return this.#event({ gvk, namespace, name, object, time, action: "applied", isSnapshot: false })
  }

  #event(facts: {
    readonly gvk: string
    readonly namespace: string
    readonly name: string
    readonly object: JsonObject
    readonly time: number
    readonly action: "applied" | "deleted"
    readonly isSnapshot: boolean
  }): TraceItem {
    const { gvk, namespace, name, object, time, action, isSnapshot } = facts
    const metadata = memberIn(object, "metadata")
    const event = {
      type: "object",
      sequence: ++this.#sequence,
      time,
      gvk,
      action,
      uid: textIn(metadata, "uid"),
      namespace,
      name,
      resourceVersion: textIn(metadata, "resourceVersion"),
      object: Buffer.from(formatExactJson(object)),
    } as const
    return { type: "event", event, isSnapshot }
  }

  /** The value with kwok's relative times made absolute; the same value if there are none. */
  #absolute(value: JsonValue): JsonValue {
    if (typeof value === "string")
      return value.includes("$(time-offset-nanosecond ") ? value.replace(RELATIVE_TIME, this.#rfc3339) : value
    if (Array.isArray(value)) return value.map((item: JsonValue) => this.#absolute(item))
    if (!isJsonObject(value)) return value
    for (const [key, item] of Object.entries(value)) {
      const fresh = this.#absolute(item)
      // The value may be changed: it was just created from the document.
      if (fresh !== item) Object.defineProperty(value, key, { value: fresh })
    }
    return value
  }

  readonly #rfc3339 = (whole: string, nanoseconds: string): string => {
    const micros = this.#base + Math.floor(Number(nanoseconds) / 1000)
    const date = new Date(Math.floor(micros / 1000))
    if (Number.isNaN(date.getTime())) return whole
    const rest = String(((micros % 1000) + 1000) % 1000).padStart(3, "0")
    return date.toISOString().replace("Z", `${rest}Z`)
  }
}

const patched = ({ gvk, object }: Live, patch: JsonObject, fail: (detail: string) => BadTraceError): JsonObject => {
  try {
    return strategicMerge(object, patch, mergeRulesOf(gvk))
  } catch (error) {
    throw error instanceof StrategicMergeError ? fail(`that Kubernetes refuses: ${error.problem}`) : error
  }
}

const documentValue = (text: string, offset: number): JsonValue => {
  try {
    return yamlValue(text)
  } catch (error) {
    if (!(error instanceof YamlValueError)) throw error
    throw bad(offset + Buffer.byteLength(text.slice(0, error.offset)), error.message)
  }
}

const microsecondsOf = (document: JsonObject, fail: (detail: string) => BadTraceError): number => {
  const value = memberIn(document, "durationNanosecond")
  // Nanoseconds since 1970 (a trace without a start) are more than a number holds exactly.
  const microseconds = typeof value === "bigint" ? Number(value / 1000n) : Math.floor(Number(value) / 1000)
  if ((typeof value !== "number" && typeof value !== "bigint") || !Number.isFinite(microseconds) || value < 0)
    throw fail("whose durationNanosecond is not a number of nanoseconds")
  return microseconds
}

const addressOf = (group: string, version: string, resource: string, namespace: string, name: string): string =>
  `${group}/${version}/${resource} ${namespace} ${name}`

const bad = (offset: number, detail: string): BadTraceError => new BadTraceError({ format: FORMAT, offset, detail })
