/**
 * Replaces values in the bytes of an object, before anything of it leaves the thread that received it.
 *
 * In an object in which a rule finds a value, every such value is replaced by a keyed hash (value-hash.ts): strings, numbers and literals,
 * also in objects and arrays below the place; `null`, empty strings and keys stay. Such an object also loses the annotation with the manifest that
 * was applied, and so does one in which only that manifest contains such a value, and every Secret. If it was the object's only annotation,
 * `annotations` goes too: an empty member, which no API server sends, would count as a change when an annotation is added that is ignored. All
 * other bytes stay as they are; an object without such a value keeps all of them.
 *
 * `metadata.managedFields` of such an object stays, because it says who wrote what, unless it may hold values: it names fields by their keys, which
 * are no secret, but items of sets by what they are (`v:"…"`), and items of lists by some of their members (`k:{"name":"…"}`).
 *
 * If a key occurs twice, every value is replaced, and the last `name` of an environment variable counts, as in the API server's decoder.
 * Time is linear in the object, whatever its content; nothing in it makes this throw.
 */
import { JsonBytes } from "../scanner/json/json-bytes.ts"
import { Candidates, type Places } from "./candidates.ts"
import { deleted, Edits, kept } from "./edits.ts"
import { isKey, MemberWalk } from "./member-walk.ts"
import { NamePatterns, textOf } from "./name-patterns.ts"
import { eachPlace, type RedactedPlace, redactedPlaces } from "./redacted-places.ts"
import type { RedactionRules } from "./redaction-rules.ts"
import { type ValueForm, ValueHash } from "./value-hash.ts"

const QUOTE = 34
const COMMA = 44
const MINUS = 45
const COLON = 58
const OPEN_BRACKET = 91
const CLOSE_BRACKET = 93
const LETTER_N = 110
const OPEN_BRACE = 123

/** Lists of variables, or annotations, inside one another: real objects have one, environments with variables of their own two. */
const deepest = 16

const nameKey = Buffer.from('"name"')
const valueKey = Buffer.from('"value"')
const metadataKey = Buffer.from('"metadata"')
const annotationsKey = Buffer.from('"annotations"')
const managedFieldsKey = Buffer.from('"managedFields"')
const finalizersKey = Buffer.from('"f:finalizers"')
const itemOfSet = Buffer.from('"v:')
const itemOfList = Buffer.from('"k:')
/** A list whose items are told apart by their values too. */
const valueInName = Buffer.from('\\"value\\"')
const appliedKey = Buffer.from('"kubectl.kubernetes.io/last-applied-configuration"')

/** What is done with a list of variables, or with annotations. */
const Action = { variables: 0, annotations: 1, removeManifest: 2, judgeManifest: 3 } as const
type Action = (typeof Action)[keyof typeof Action]

/** [start, end) in the bytes of an object. */
interface Span {
  readonly start: number
  readonly end: number
}

/** Reused for every object of one kind. */
export class ObjectRedactor {
  readonly #rules: RedactionRules
  readonly #hash: ValueHash
  readonly #env: NamePatterns
  readonly #annotations: NamePatterns
  readonly #places: ReadonlyArray<RedactedPlace>
  readonly #candidates = new Candidates()
  readonly #edits = new Edits()
  readonly #json = new JsonBytes()
  readonly #walk = new MemberWalk(this.#json)
  /** Values of the environment variable that is being read: start and end of each. */
  readonly #values: Array<number> = []
  /** Where the lists or objects end that are walked over. */
  readonly #ends: Array<number> = []
  #isManifestFound = false
  /** Whether some annotations consist of the manifest alone. */
  #hasOnlyManifest = false
  #form: ValueForm = "text"
  #hasFound = false
  /** For the manifest in an annotation; it has the same rules. */
  #manifests: ObjectRedactor | undefined

  constructor(rules: RedactionRules, key: Uint8Array | ValueHash) {
    this.#rules = rules
    this.#hash = key instanceof ValueHash ? key : new ValueHash(key)
    this.#env = new NamePatterns(rules.env)
    this.#annotations = new NamePatterns([...rules.annotations, ...rules.toolAnnotations])
    this.#places = redactedPlaces(rules)
  }

  /**
   * Replaces values in the object `bytes[start, end)`, which is valid JSON without white space around it; the result is in {@link result}. Returns
   * false if it stays as it is, and then there is none. `managedFields`: the span of the only member of that name in its metadata, empty if there is none, with one
   * comma; default: it is looked for.
   */
  redact(bytes: Buffer, start: number, end: number, managedFields?: Span): boolean {
    if (!this.#find(bytes, start, end)) return false
    this.#hasOnlyManifest = false
    this.#eachOf(this.#candidates.annotations, Action.removeManifest)
    if (managedFields !== undefined && !this.#hasOnlyManifest) {
      const { start: from, end: to } = managedFields
      if (to > from && this.#mayHoldValues(from, to)) this.#edits.add(from, to, deleted)
    } else this.#removeFromMetadata(bytes, start)
    if (this.#edits.isEmpty) return false
    this.#edits.apply(bytes, start, end)
    return true
  }

  /** The object after {@link redact} has returned true: `bytes[0, length)`, until the next call. */
  get result(): Pick<Edits, "bytes" | "length"> {
    return this.#edits
  }

  /** The same in one call, for objects that are not many: a view of the result, or `undefined` if the object stays as it is. */
  redacted(bytes: Buffer, start: number, end: number): Buffer | undefined {
    return this.redact(bytes, start, end) ? this.#edits.bytes.subarray(0, this.#edits.length) : undefined
  }

  /** Removes `managedFields` that may hold values, and annotations of which nothing is left. Takes as long as a scan of the object. */
  #removeFromMetadata(bytes: Buffer, start: number): void {
    const walk = this.#walk
    walk.each(start, (key, keyEnd, value) => {
      if (bytes[value] === OPEN_BRACE && isKey(bytes, key, keyEnd, metadataKey))
        walk.remove(
          value,
          (own, ownEnd, inner, innerEnd) =>
            isKey(bytes, own, ownEnd, managedFieldsKey)
              ? this.#mayHoldValues(inner, innerEnd)
              : bytes[inner] === OPEN_BRACE &&
                isKey(bytes, own, ownEnd, annotationsKey) &&
                walk.hasOnly(inner, appliedKey),
          this.#edits,
        )
    })
  }

  /**
   * Whether names of fields in managedFields, in `[start, end)`, may hold values that a rule replaces. Metadata is never replaced, so its finalizers, a set,
   * may stay, and variables are known by their names. Of names with escapes, which no API server writes, nothing is assumed.
   */
  #mayHoldValues(start: number, end: number): boolean {
    const json = this.#json
    const fields = json.bytes.subarray(start, end)
    if (fields.includes("\\u") || fields.includes(valueInName)) return true
    if (this.#rules.pointers.length > 0) return fields.includes(itemOfList) || fields.includes(itemOfSet)
    for (let at = fields.indexOf(itemOfSet); at >= 0; at = fields.indexOf(itemOfSet, at)) {
      const set = fields.lastIndexOf(finalizersKey, at)
      if (set < 0) return true
      const value = json.skipColon(start + set + finalizersKey.length)
      const setEnd = value < 0 ? 0 : json.skipValue(value) - start
      if (setEnd <= at) return true
      at = setEnd
    }
    return false
  }

  /** Collects replacements; returns whether the object contains a value that a rule finds, or a manifest that does. */
  #find(bytes: Buffer, start: number, end: number): boolean {
    const { secret } = this.#rules
    const json = this.#json
    this.#edits.clear()
    this.#hasFound = secret
    if (!json.load(bytes, end)) return false
    const candidates = this.#candidates
    const hasCandidates = candidates.search(json, start, end)
    if (!hasCandidates && this.#places.length === 0) return secret
    for (const place of this.#places) {
      this.#form = place.form
      eachPlace(json, this.#walk, start, place.tokens, (from, to) => this.#replace(from, to))
    }
    this.#form = "text"
    if (!this.#env.isEmpty) this.#eachOf(candidates.env, Action.variables)
    if (!this.#annotations.isEmpty) this.#eachOf(candidates.annotations, Action.annotations)
    return this.#hasFound || this.#isInManifest()
  }

  /**
   * Does it with each of these values, if it is a list or an object as it has to be. One that is inside too many others is replaced as a whole: to
   * walk over it once for each of them would take time that is quadratic in the object. No functions are passed, because each would be garbage.
   */
  #eachOf(places: Places, action: Action): void {
    const { bytes } = this.#json
    const bracket = action === Action.variables ? OPEN_BRACKET : OPEN_BRACE
    const ends = this.#ends
    let depth = 0
    let replacedEnd = 0
    for (let index = 0; index < places.count; index++) {
      const at = places.at(index)
      if (bytes[at] !== bracket || at < replacedEnd) continue
      while (depth > 0 && (ends[depth - 1] as number) <= at) depth--
      if (depth < deepest) ends[depth++] = this.#act(action, at)
      else {
        replacedEnd = this.#json.skipValue(at)
        this.#replace(at, replacedEnd)
      }
    }
  }

  /** Returns the position after the value. */
  #act(action: Action, position: number): number {
    switch (action) {
      case Action.variables:
        return this.#variables(position)
      case Action.annotations:
        return this.#namedAnnotations(position)
      case Action.removeManifest:
        if (this.#walk.hasOnly(position, appliedKey)) this.#hasOnlyManifest = true
        return this.#walk.remove(position, appliedKey, this.#edits)
      default:
        return this.#judgeManifest(position)
    }
  }

  /** The array of environment variables whose bracket is at `position`; returns the position after it. */
  #variables(position: number): number {
    const json = this.#json
    const { view } = json
    let at = json.skipSpace(position + 1)
    while (view.getUint8(at) !== CLOSE_BRACKET) {
      at = json.skipSpace(view.getUint8(at) === OPEN_BRACE ? this.#variable(at) : json.skipValue(at))
      if (view.getUint8(at) === COMMA) at = json.skipSpace(at + 1)
    }
    return at + 1
  }

  /** Returns the position after it. */
  #variable(position: number): number {
    const json = this.#json
    const { bytes } = json
    const values = this.#values
    let count = 0
    let name = 0
    let nameEnd = 0
    // Not by a walk with a function for each member: lists of variables are the longest part of many Pods.
    const { view } = json
    let at = json.skipSpace(position + 1)
    while (view.getUint8(at) === QUOTE) {
      const keyEnd = json.skipString(at + 1)
      const value = json.skipColon(keyEnd)
      const end = json.skipValue(value)
      if (isKey(bytes, at, keyEnd, valueKey)) {
        values[count++] = value
        values[count++] = end
      } else if (isKey(bytes, at, keyEnd, nameKey)) {
        name = value
        nameEnd = view.getUint8(value) === QUOTE ? end : value
      }
      at = json.skipSpace(end)
      if (view.getUint8(at) === COMMA) at = json.skipSpace(at + 1)
    }
    if (count > 0 && nameEnd > name && this.#env.covers(bytes, name, nameEnd))
      for (let index = 0; index < count; index += 2) this.#replace(values[index] as number, values[index + 1] as number)
    return at + 1
  }

  /** The annotations whose brace is at `position`; returns the position after them. */
  #namedAnnotations(position: number): number {
    const { bytes } = this.#json
    const json = this.#json
    const { view } = json
    let at = json.skipSpace(position + 1)
    while (view.getUint8(at) === QUOTE) {
      const keyEnd = json.skipString(at + 1)
      const value = json.skipColon(keyEnd)
      const end = json.skipValue(value)
      if (this.#annotations.covers(bytes, at, keyEnd)) this.#replace(value, end)
      at = json.skipSpace(end)
      if (view.getUint8(at) === COMMA) at = json.skipSpace(at + 1)
    }
    return at + 1
  }

  /** Replaces every scalar in the value at [start, end). */
  #replace(start: number, end: number): void {
    const json = this.#json
    const { view } = json
    let at = start
    while (at < end) {
      const byte = view.getUint8(at)
      if (byte === QUOTE) {
        const behind = json.skipString(at + 1)
        const next = json.skipSpace(behind)
        const isName = next < end && view.getUint8(next) === COLON
        if (!isName && behind - at > 2) this.#scalar(at, behind)
        at = behind
      } else if (byte === LETTER_N) at += 4
      else if (byte === MINUS || (byte >= 48 && byte <= 57) || byte === 102 || byte === 116) {
        const behind = json.skipValue(at)
        this.#scalar(at, behind)
        at = behind
      } else at++
    }
  }

  #scalar(start: number, end: number): void {
    const { bytes } = this.#json
    this.#hasFound = true
    const form = this.#form
    const replacement =
      form === "text"
        ? this.#hash.replacement(bytes, start, end)
        : this.#hash.encodedReplacement(bytes, start, end, form)
    // Also if it stays as it is: another rule must not replace it.
    this.#edits.add(start, end, replacement ?? kept)
  }

  /** Whether a manifest in an annotation contains a value that a rule finds: one that the object itself no longer has. */
  #isInManifest(): boolean {
    const { isQuoted, annotations } = this.#candidates
    if (!isQuoted && this.#places.length === 0 && this.#rules.annotations.length === 0) return false
    if (annotations.count === 0) return false
    this.#isManifestFound = false
    this.#eachOf(annotations, Action.judgeManifest)
    return this.#isManifestFound || this.#hasFound
  }

  #judgeManifest(position: number): number {
    const { bytes } = this.#json
    return this.#walk.each(position, (key, keyEnd, value, end) => {
      if (!this.#isManifestFound && isKey(bytes, key, keyEnd, appliedKey))
        this.#isManifestFound = this.#hasManifestValue(value, end)
    })
  }

  #hasManifestValue(start: number, end: number): boolean {
    const { bytes } = this.#json
    if (bytes[start] !== QUOTE) return false
    const manifest = Buffer.from(textOf(bytes, start, end).trim())
    if (manifest.length === 0) return false
    const json = new JsonBytes()
    const isObject =
      manifest[0] === OPEN_BRACE && json.load(manifest, manifest.length) && json.skipValue(0) === manifest.length
    // Of one that is not JSON, nobody can say what is in it.
    if (!isObject) return this.#rules.annotations.length > 0 || this.#places.length > 0 || manifest.includes('"env')
    this.#manifests ??= new ObjectRedactor(this.#rules, this.#hash)
    return this.#manifests.#find(manifest, 0, manifest.length)
  }
}
