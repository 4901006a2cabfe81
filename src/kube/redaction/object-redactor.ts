/**
 * Replaces values in the bytes of an object, before anything of it leaves the thread that received it.
 *
 * In an object in which a rule finds a value, every such value is replaced by a keyed hash (value-hash.ts): strings, numbers and literals,
 * also in objects and arrays below the place; `null`, empty strings and keys stay. Of command lines and addresses only the part that is
 * secret is replaced (secret-text.ts). Such an object also loses the annotation with the manifest that
 * was applied, and so does one in which only that manifest contains such a value, and every Secret. If it was the object's only annotation,
 * `annotations` goes too: an empty member, which no API server sends, would count as a change when an annotation is added that is ignored. All
 * other bytes stay as they are; an object without such a value keeps all of them. Only if letters are spelled as escape sequences, which no API
 * server does, all strings are spelled anew.
 *
 * `metadata.managedFields` is kept unless it can contain a value: fields are named by key, but items of sets by value (`v:"…"`) and items of lists
 * by some of their members (`k:{"name":"…"}`).
 *
 * If a key occurs twice, every value is replaced, and the last `name` of an environment variable counts, as in the API server's decoder.
 * Time is linear in the object, whatever its content; nothing in it makes this throw.
 */

import { JsonBytes } from "../scanner/json/json-bytes.ts"
import { decodeString } from "../scanner/object/canonical-json.ts"
import { Candidates, type Places } from "./candidates.ts"
import { isKey, MemberWalk } from "./member-walk.ts"
import { eachPlace, mayHoldValues, type RedactedPlace, redactedPlaces } from "./redacted-places.ts"
import { type ValueKind, valueKinds } from "./redacted-values.ts"
import { NamePatterns, type RedactionRules } from "./redaction-rules.ts"
import { deleted, Edits, kept, longestText, mostTexts, type TextEdit, TextEdits } from "./text-edits.ts"

import { TokenMemory, textOf, type ValueForm, ValueHash } from "./value-hash.ts"

const QUOTE = 34
const COMMA = 44
const MINUS = 45
const COLON = 58
const OPEN_BRACKET = 91
const BACKSLASH = 92
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
/** The command line that changed a Deployment, as kubectl notes it. */
const causeKey = Buffer.from('"kubernetes.io/change-cause"')
const appliedKey = Buffer.from('"kubectl.kubernetes.io/last-applied-configuration"')

/** What is done with a list of variables, of headers or of words, or with annotations. */
const Action = { variables: 0, headers: 1, words: 2, annotations: 3, removeManifest: 4, judgeManifest: 5 } as const
type Action = (typeof Action)[keyof typeof Action]

const kindOf = (kind: ValueKind): number => valueKinds.indexOf(kind)
const kinds = {
  secret: kindOf("secret"),
  env: kindOf("env"),
  annotation: kindOf("annotation"),
  header: kindOf("header"),
  argument: kindOf("argument"),
  address: kindOf("address"),
  pointer: kindOf("pointer"),
} as const

/** What each action replaces. */
const kindsOfActions: Readonly<Record<Action, number>> = {
  [Action.variables]: kinds.env,
  [Action.headers]: kinds.header,
  [Action.words]: kinds.argument,
  [Action.annotations]: kinds.annotation,
  [Action.removeManifest]: kinds.annotation,
  [Action.judgeManifest]: kinds.annotation,
}

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
  readonly #headers: NamePatterns
  readonly #texts: TextEdits
  readonly #judgements = new TokenMemory<boolean>(longestText, mostTexts)
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
  /** Of the values that are being replaced. */
  #kind = 0
  #hasFound = false
  /** What is redacted: the object, or a copy that is spelled as usual. */
  #bytes: Buffer = Buffer.alloc(0)
  #start = 0
  #end = 0
  /** For the manifest in an annotation; it has the same rules. */
  #manifests: ObjectRedactor | undefined

  constructor(rules: RedactionRules, key: Uint8Array | ValueHash) {
    this.#rules = rules
    this.#hash = key instanceof ValueHash ? key : new ValueHash(key)
    this.#env = new NamePatterns(rules.env)
    this.#annotations = new NamePatterns([...rules.toolAnnotations, ...rules.annotations])
    this.#headers = new NamePatterns(rules.headers ?? [])
    const commands = { values: new NamePatterns(rules.arguments ?? []), headers: this.#headers }
    this.#texts = new TextEdits(commands, this.#hash, rules.addresses === true)
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
    if (managedFields !== undefined && !this.#hasOnlyManifest && this.#bytes === bytes) {
      const { start: from, end: to } = managedFields
      if (to > from && mayHoldValues(this.#json, from, to, this.#rules)) this.#edits.add(from, to, deleted)
    } else this.#removeFromMetadata(this.#bytes, this.#start)
    if (this.#edits.isEmpty) return false
    this.#edits.apply(this.#bytes, this.#start, this.#end)
    return true
  }

  /** The object after {@link redact} has returned true: `bytes[0, length)`, until the next call. */
  get result(): Pick<Edits, "bytes" | "length" | "replaced"> {
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
              ? mayHoldValues(this.#json, inner, innerEnd, this.#rules)
              : bytes[inner] === OPEN_BRACE &&
                isKey(bytes, own, ownEnd, annotationsKey) &&
                walk.hasOnly(inner, appliedKey),
          this.#edits,
        )
    })
  }

  /** Collects replacements; returns whether the object contains a value that a rule finds, or a manifest that does. */
  #find(bytes: Buffer, start: number, end: number): boolean {
    this.#edits.clear()
    this.#hasFound = this.#rules.secret
    if (!this.#json.load(bytes, end)) return false
    const hasCandidates = this.#search(bytes, start, end)
    if (!hasCandidates && this.#places.length === 0) return this.#hasFound
    for (const place of this.#places) {
      this.#form = place.form
      this.#kind = place.isOfSecret ? kinds.secret : kinds.pointer
      eachPlace(this.#json, this.#walk, this.#start, place.tokens, (from, to) => this.#replace(from, to))
    }
    this.#form = "text"
    const candidates = this.#candidates
    if (!this.#env.isEmpty) this.#eachOf(candidates.env, Action.variables)
    if (!this.#headers.isEmpty) this.#eachOf(candidates.headers, Action.headers)
    this.#eachOf(candidates.annotations, Action.annotations)
    // After those that replace whole values.
    if (!this.#texts.isWithoutNames) this.#eachOf(candidates.arguments, Action.words)
    if (this.#rules.addresses === true) this.#eachAddress(candidates.addresses)
    return this.#hasFound || this.#isInManifest()
  }

  /** Finds the candidates; an object that is oddly spelled is spelled as usual first. */
  #search(bytes: Buffer, start: number, end: number): boolean {
    const json = this.#json
    const candidates = this.#candidates
    this.#bytes = bytes
    this.#start = start
    this.#end = end
    const isFound = candidates.search(json, start, end)
    if (!candidates.isOddlySpelled) return isFound
    this.#bytes = usuallySpelled(json, start, end)
    this.#start = 0
    this.#end = this.#bytes.length
    json.load(this.#bytes, this.#end)
    candidates.search(json, 0, this.#end)
    // In the texts in strings there can still be such letters.
    candidates.isQuoted ||= candidates.isOddlySpelled
    return true
  }

  /**
   * Does it with each of these values, if it is a list or an object as it has to be. One that is inside too many others is replaced as a whole: to
   * walk over it once for each of them would take time that is quadratic in the object. No functions are passed, because each would be garbage.
   */
  #eachOf(places: Places, action: Action): void {
    const { bytes } = this.#json
    const bracket = action <= Action.words ? OPEN_BRACKET : OPEN_BRACE
    const ends = this.#ends
    this.#kind = kindsOfActions[action]
    let depth = 0
    let replacedEnd = 0
    for (let index = 0; index < places.count; index++) {
      const at = places.at(index)
      if (at < replacedEnd) continue
      if (action === Action.words && bytes[at] === QUOTE) this.#word(at, this.#json.skipString(at + 1), kinds.argument)
      if (bytes[at] !== bracket) continue
      while (depth > 0 && (ends[depth - 1] ?? 0) <= at) depth--
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
        return this.#variables(position, this.#env)
      case Action.headers:
        return this.#variables(position, this.#headers)
      case Action.words:
        return this.#commandLine(position)
      case Action.annotations:
        return this.#namedAnnotations(position)
      case Action.removeManifest:
        if (this.#walk.hasOnly(position, appliedKey)) this.#hasOnlyManifest = true
        return this.#walk.remove(position, appliedKey, this.#edits)
      default:
        return this.#judgeManifest(position)
    }
  }

  /** The array of environment variables, or of headers, whose bracket is at `position`; returns the position after it. */
  #variables(position: number, names: NamePatterns): number {
    const json = this.#json
    const { view } = json
    let at = json.skipSpace(position + 1)
    while (view.getUint8(at) !== CLOSE_BRACKET) {
      at = json.skipSpace(view.getUint8(at) === OPEN_BRACE ? this.#variable(at, names) : json.skipValue(at))
      if (view.getUint8(at) === COMMA) at = json.skipSpace(at + 1)
    }
    return at + 1
  }

  /** Returns the position after it. */
  #variable(position: number, names: NamePatterns): number {
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
    if (count > 0 && nameEnd > name && names.covers(bytes, name, nameEnd))
      for (let index = 0; index < count; index += 2) this.#replace(values[index] ?? 0, values[index + 1] ?? 0)
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
      else if (view.getUint8(value) === QUOTE && isKey(bytes, at, keyEnd, causeKey))
        this.#word(value, end, kinds.annotation)
      at = json.skipSpace(end)
      if (view.getUint8(at) === COMMA) at = json.skipSpace(at + 1)
    }
    return at + 1
  }

  /** The words of a command line, whose bracket is at `position`; returns the position after it. */
  #commandLine(position: number): number {
    const json = this.#json
    const { bytes, view } = json
    let option: ReturnType<TextEdits["option"]>
    let at = json.skipSpace(position + 1)
    while (view.getUint8(at) !== CLOSE_BRACKET) {
      let end = 0
      if (view.getUint8(at) === QUOTE) {
        end = json.skipString(at + 1)
        if (option === undefined) this.#word(at, end, kinds.argument)
        else this.#edit(at, end, kinds.argument, this.#texts.valueOf(option, bytes, at, end))
        option = view.getUint8(at + 1) === MINUS ? this.#texts.option(bytes, at, end) : undefined
      } else {
        end = json.skipValue(at)
        option = undefined
      }
      at = json.skipSpace(end)
      if (view.getUint8(at) === COMMA) at = json.skipSpace(at + 1)
    }
    return at + 1
  }

  /** A word, or a whole command line: the string [start, end). */
  #word(start: number, end: number, kind: number): void {
    this.#edit(start, end, kind, this.#texts.word(this.#json.bytes, start, end))
  }

  #edit(start: number, end: number, kind: number, edit: TextEdit | undefined): void {
    if (edit === undefined) return
    this.#hasFound = true
    this.#edits.add(start, end, edit.token, kind, edit.values)
  }

  /** The strings that contain these positions; those that are keys stay. */
  #eachAddress(places: Places): void {
    const json = this.#json
    const { bytes } = json
    let readTo = 0
    for (let index = 0; index < places.count; index++) {
      const at = places.at(index)
      if (at < readTo) continue
      const start = stringStart(bytes, at)
      readTo = json.skipString(start + 1)
      if (bytes[json.skipSpace(readTo)] === COLON) continue
      this.#edit(start, readTo, kinds.address, this.#texts.address(bytes, start, readTo))
    }
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
    this.#edits.add(start, end, replacement ?? kept, this.#kind, replacement === undefined ? 0 : 1)
  }

  /** Whether a manifest in an annotation contains a value that a rule finds: one that the object itself no longer has. */
  #isInManifest(): boolean {
    const { isQuoted, annotations } = this.#candidates
    if (!isQuoted && this.#places.length === 0) return false
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
    const known = this.#judgements.recall(bytes, start, end)
    if (known !== undefined) return known.value
    return this.#judgements.remember(bytes, start, end, this.#isValueIn(start, end))
  }

  #isValueIn(start: number, end: number): boolean {
    const { bytes } = this.#json
    const manifest = Buffer.from(textOf(bytes, start, end).trim())
    if (manifest.length === 0) return false
    const json = new JsonBytes()
    const isObject =
      manifest[0] === OPEN_BRACE && json.load(manifest, manifest.length) && json.skipValue(0) === manifest.length
    // What is in one that is not JSON cannot be known.
    if (!isObject) return this.#places.length > 0 || keyBeginnings.some((beginning) => manifest.includes(beginning))
    this.#manifests ??= new ObjectRedactor(this.#rules, this.#hash)
    return this.#manifests.#find(manifest, 0, manifest.length)
  }
}

/** With which the keys begin below which values are found. */
const keyBeginnings = ['"env', '"ann', '"com', '"arg', '"htt']

/** The object in [start, end) with all strings as `JSON.stringify` spells them. */
const usuallySpelled = (json: JsonBytes, start: number, end: number): Buffer => {
  const { bytes } = json
  const parts: Array<Buffer> = []
  let from = start
  for (let at = bytes.indexOf(QUOTE, start); at >= 0 && at < end; at = bytes.indexOf(QUOTE, from)) {
    const behind = json.skipString(at + 1)
    const token = bytes.subarray(at, behind)
    parts.push(bytes.subarray(from, at))
    parts.push(token.includes(BACKSLASH) ? Buffer.from(JSON.stringify(decodeString(bytes, at, behind))) : token)
    from = behind
  }
  parts.push(bytes.subarray(from, end))
  return Buffer.concat(parts)
}

/** Position of the quote that begins the string around `position`: the nearest one before it that is not escaped. */
const stringStart = (bytes: Buffer, position: number): number => {
  let at = position
  for (;;) {
    at = bytes.lastIndexOf(QUOTE, at - 1)
    let before = at - 1
    while (bytes[before] === BACKSLASH) before--
    if ((at - before) % 2 === 1) return at
  }
}
