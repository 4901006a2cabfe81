/**
 * Splits a list response while it arrives: passes on every item at its last byte, and collects the list's own
 * members. Memory is bounded by the largest item, and so is what may come between two. Items are found by their
 * brackets and passed on unchecked; the grammar around them is checked.
 */
import * as Schema from "effect/Schema"
import { apiVersionOf, type GroupVersionKind } from "../kinds/gvk.ts"
import { isWhiteSpace, JsonBytes } from "./json/json-bytes.ts"
import { TokenScanner } from "./json/token-scanner.ts"
import { CarryBuffer, defaultLongest, type LineBudget, type SpanListener, TooLongError } from "./line-splitter.ts"
import { readMembers } from "./object/canonical-json.ts"
import type { ObjectReport } from "./object/object-report.ts"
import { longestReadSlowly } from "./slow-path.ts"

// One item of a list in the form in which watch events carry objects: with `kind` and `apiVersion`, which API servers leave out of the items
// of built-in kinds. The reader of a list completes its items before it passes them on, so everything behind it sees one form.

/** The beginning of a completed item up to its own first member, and where the texts in it are; [0, 0) for one that is not in it. */
interface Opening {
  readonly bytes: Buffer
  readonly kindStart: number
  readonly kindEnd: number
  readonly apiVersionStart: number
  readonly apiVersionEnd: number
}

/** Reused for every item: the span is valid until the next call. */
export class ListItem {
  bytes: Buffer = Buffer.alloc(0)
  start = 0
  end = 0
  readonly #both: Opening
  readonly #kindOnly: Opening
  readonly #apiVersionOnly: Opening
  /** The scanner of the list bounds its items; what is put in front of one is shorter than this. */
  readonly #copy = new CarryBuffer(defaultLongest + 4096)
  readonly #json = new JsonBytes()

  constructor(gvk: GroupVersionKind) {
    this.#both = openingOf(gvk.kind, apiVersionOf(gvk))
    this.#kindOnly = openingOf(gvk.kind, undefined)
    this.#apiVersionOnly = openingOf(undefined, apiVersionOf(gvk))
  }

  /**
   * Completes the object in [start, end), which `scanned` has scanned and which begins with its brace. Its spans then refer to the completed
   * item.
   */
  complete(bytes: Buffer, start: number, end: number, scanned: ObjectReport): void {
    const opening = this.#openingFor(scanned.kindEnd !== 0, scanned.apiVersionEnd !== 0)
    if (opening === undefined) return this.#keep(bytes, start, end)
    // An object that can be scanned has metadata, so a member always follows.
    this.#prepend(opening, opening.bytes.length, bytes, start, end)
    scanned.move(opening.bytes.length - (start + 1))
    if (opening.kindEnd !== 0) {
      scanned.kindStart = opening.kindStart
      scanned.kindEnd = opening.kindEnd
    }
    if (opening.apiVersionEnd !== 0) {
      scanned.apiVersionStart = opening.apiVersionStart
      scanned.apiVersionEnd = opening.apiVersionEnd
    }
  }

  /** The same without a scan: for what the scanner does not understand, or where nothing is scanned. Bytes that are not JSON stay as they are. */
  completeUnscanned(bytes: Buffer, start: number, end: number): void {
    const json = this.#json
    if (end - start > longestReadSlowly) return this.#keep(bytes, start, end)
    if (!json.load(bytes, end) || json.skipValue(start) !== end) return this.#keep(bytes, start, end)
    const keys = new Set(readMembers(json, start).map(({ key }) => key))
    const opening = this.#openingFor(keys.has("kind"), keys.has("apiVersion"))
    if (opening === undefined) return this.#keep(bytes, start, end)
    const { length } = opening.bytes
    this.#prepend(opening, keys.size === 0 ? length - 1 : length, bytes, start, end)
  }

  #openingFor(hasKind: boolean, hasApiVersion: boolean): Opening | undefined {
    if (hasKind) return hasApiVersion ? undefined : this.#apiVersionOnly
    return hasApiVersion ? this.#kindOnly : this.#both
  }

  #keep(bytes: Buffer, start: number, end: number): void {
    this.bytes = bytes
    this.start = start
    this.end = end
  }

  #prepend(opening: Opening, length: number, bytes: Buffer, start: number, end: number): void {
    const copy = this.#copy
    copy.clear()
    copy.append(opening.bytes, 0, length)
    copy.append(bytes, start + 1, end)
    this.#keep(copy.bytes, 0, copy.length)
  }
}

/** In the order in which API servers write built-in kinds, which are the ones that come without. */
const openingOf = (kind: string | undefined, apiVersion: string | undefined): Opening => {
  let text = "{"
  const add = (key: string, value: string | undefined): { readonly start: number; readonly end: number } => {
    if (value === undefined) return { start: 0, end: 0 }
    text += `"${key}":"`
    const start = Buffer.byteLength(text)
    text += JSON.stringify(value).slice(1, -1)
    const end = Buffer.byteLength(text)
    text += '",'
    return { start, end }
  }
  const kindSpan = add("kind", kind)
  const apiVersionSpan = add("apiVersion", apiVersion)
  return {
    bytes: Buffer.from(text),
    kindStart: kindSpan.start,
    kindEnd: kindSpan.end,
    apiVersionStart: apiVersionSpan.start,
    apiVersionEnd: apiVersionSpan.end,
  }
}

// The members of a list response besides its items.

interface ListHead {
  /** `PodList`; the empty string while unknown. `Status` if the server returned an error instead. */
  readonly kind: string
  readonly apiVersion: string
  /** The version of the whole list, the same on all its pages; the empty string while unknown. */
  readonly resourceVersion: string
  /** Token for the next page; `undefined` on the last one, where the server leaves it out or empty. */
  readonly continueToken: string | undefined
  /** Items on the remaining pages, if the server sends it: it does not with selectors. The API calls it an estimate. */
  readonly remainingItemCount: number | undefined
}

const emptyListHead: ListHead = {
  kind: "",
  apiVersion: "",
  resourceVersion: "",
  continueToken: undefined,
  remainingItemCount: undefined,
}

const textAt = (value: unknown): string => (typeof value === "string" ? value : "")

/** The head with one more member of the list object; members that do not describe the list change nothing. */
const withListMember = (head: ListHead, key: string, value: unknown): ListHead => {
  switch (key) {
    case "kind":
      return { ...head, kind: textAt(value) }
    case "apiVersion":
      return { ...head, apiVersion: textAt(value) }
    case "metadata": {
      if (typeof value !== "object" || value === null) return head
      const metadata: Readonly<Record<string, unknown>> = { ...value }
      const count = metadata.remainingItemCount
      return {
        ...head,
        resourceVersion: textAt(metadata.resourceVersion),
        continueToken: textAt(metadata.continue) || undefined,
        remainingItemCount: typeof count === "number" ? count : undefined,
      }
    }
    default:
      return head
  }
}

/** Whether {@link withListMember} uses the member, so that others need not be kept in memory. */
const isListMember = (key: string): boolean => key === "kind" || key === "apiVersion" || key === "metadata"

const QUOTE = 34
const COMMA = 44
const COLON = 58
const OPEN_BRACKET = 91
const CLOSE_BRACKET = 93
const OPEN_BRACE = 123
const CLOSE_BRACE = 125

/** The body of a list response is not a JSON list. */
export class ListSyntaxError extends Schema.TaggedError<ListSyntaxError>()("ListSyntaxError", {
  /** Bytes from the start of the body. */
  offset: Schema.Number,
  /** What was expected there. */
  expected: Schema.String,
}) {
  override get message() {
    return `not a list: expected ${this.expected} at byte ${this.offset} of the response`
  }
}

/** The scanner's state between tokens: what may come next. */
const Expect = {
  list: "{",
  firstKey: "a key or }",
  key: "a key",
  colon: ":",
  value: "a value",
  memberEnd: ", or }",
  firstItem: "an object or ]",
  item: "an object",
  itemEnd: ", or ]",
  nothing: "nothing more",
} as const
type Expect = (typeof Expect)[keyof typeof Expect]

type TokenRole = "none" | "key" | "head" | "other" | "item"

export class ListScanner {
  /** The list's own members; final when {@link isComplete}. */
  head: ListHead = emptyListHead
  /** Items passed on since the last reset. */
  items = 0
  private readonly listener: SpanListener
  private readonly carry: CarryBuffer
  private readonly longestBetween: number
  private readonly token = new TokenScanner()
  private role: TokenRole = "none"
  private expect: Expect = Expect.list
  private key = ""
  /** Bytes of the body before the present chunk. */
  private before = 0
  /** Bytes of the body up to the end of the last item. */
  private itemEnd = 0
  private chunk: Buffer | undefined
  private view: DataView = new DataView(new ArrayBuffer(0))

  /**
   * `longest`: bytes of the longest item that may span chunks; `budget`: of all threads, for items beyond
   * `freeBytes`; `longestBetween`: bytes between the ends of two items.
   */
  constructor(
    listener: SpanListener,
    options: {
      readonly longest?: number
      readonly longestBetween?: number
      readonly budget?: LineBudget | undefined
    } = {},
  ) {
    this.listener = listener
    this.carry = new CarryBuffer(options.longest ?? defaultLongest, options.budget)
    this.longestBetween = options.longestBetween ?? defaultLongest
  }

  /** Whether the list's closing brace has been seen. */
  get isComplete(): boolean {
    return this.expect === Expect.nothing
  }

  /** Prepares for another response: the next page, or the same list again. */
  reset(): void {
    this.head = emptyListHead
    this.items = 0
    this.carry.clear()
    this.role = "none"
    this.expect = Expect.list
    this.key = ""
    this.before = 0
    this.itemEnd = 0
  }

  /** No more of the response comes: gives back what an unfinished item took. */
  release(): void {
    this.carry.clear()
  }

  /**
   * Reads bytes [start, end) of a chunk, which may be reused after the call.
   *
   * @throws ListSyntaxError, TooLongError, LinesTooLargeError: the rest of the response is useless, items passed on before stay valid
   */
  push(chunk: Buffer, start: number, end: number): void {
    if (chunk !== this.chunk) {
      this.chunk = chunk
      this.view = new DataView(chunk.buffer, chunk.byteOffset, chunk.byteLength)
    }
    const view = this.view
    let at = start
    while (at < end) {
      if (this.role === "none") {
        const byte = view.getUint8(at)
        if (isWhiteSpace(byte)) at++
        else if (this.beginToken(byte, at - start)) continue
        else at++
        continue
      }
      const behind = this.token.skip(view, at, end)
      if (behind < 0) {
        if (this.role !== "other") this.carry.append(chunk, at, end)
        break
      }
      this.endToken(chunk, at, behind, behind - start)
      at = behind
    }
    this.before += end - start
    if (this.before - this.itemEnd > this.longestBetween) throw new TooLongError({ limit: this.longestBetween })
  }

  /** Consumes one structural byte; if a token starts with the byte, consumes nothing and returns true. */
  private beginToken(byte: number, offset: number): boolean {
    switch (this.expect) {
      case Expect.list:
        return this.structural(byte === OPEN_BRACE, Expect.firstKey, offset)
      case Expect.firstKey:
      case Expect.key:
        if (byte === QUOTE) return this.startToken("key", byte)
        return this.structural(byte === CLOSE_BRACE && this.expect === Expect.firstKey, Expect.nothing, offset)
      case Expect.colon:
        return this.structural(byte === COLON, Expect.value, offset)
      case Expect.value:
        if (this.key === "items" && byte === OPEN_BRACKET) return this.structural(true, Expect.firstItem, offset)
        if (byte === COMMA || byte === COLON || (byte | 32) === CLOSE_BRACE) this.fail(offset)
        return this.startToken(isListMember(this.key) ? "head" : "other", byte)
      case Expect.memberEnd:
        return this.structural(
          byte === COMMA || byte === CLOSE_BRACE,
          byte === COMMA ? Expect.key : Expect.nothing,
          offset,
        )
      case Expect.firstItem:
      case Expect.item:
        if (byte === OPEN_BRACE) return this.startToken("item", byte)
        return this.structural(byte === CLOSE_BRACKET && this.expect === Expect.firstItem, Expect.memberEnd, offset)
      case Expect.itemEnd:
        return this.structural(
          byte === COMMA || byte === CLOSE_BRACKET,
          byte === COMMA ? Expect.item : Expect.memberEnd,
          offset,
        )
      default:
        return this.fail(offset)
    }
  }

  private structural(allowed: boolean, next: Expect, offset: number): false {
    if (!allowed) this.fail(offset)
    this.expect = next
    return false
  }

  private startToken(role: TokenRole, first: number): true {
    this.role = role
    this.token.begin(first)
    return true
  }

  private endToken(chunk: Buffer, start: number, end: number, offset: number): void {
    const role = this.role
    this.role = "none"
    let bytes = chunk
    let from = start
    let to = end
    const carry = this.carry
    if (carry.length > 0) {
      carry.append(chunk, start, end)
      bytes = carry.bytes
      from = 0
      to = carry.length
    }
    if (role === "item") {
      this.expect = Expect.itemEnd
      this.items++
      this.itemEnd = this.before + offset
      this.listener(bytes, from, to)
    } else if (role === "key") {
      this.key = String(this.parse(bytes, from, to, offset))
      this.expect = Expect.colon
    } else {
      if (role === "head") this.head = withListMember(this.head, this.key, this.parse(bytes, from, to, offset))
      this.expect = Expect.memberEnd
    }
    if (carry.length > 0) carry.clear()
  }

  private parse(bytes: Buffer, start: number, end: number, offset: number): unknown {
    try {
      return JSON.parse(bytes.toString("utf8", start, end))
    } catch {
      return this.fail(offset)
    }
  }

  private fail(offset: number): never {
    throw new ListSyntaxError({ offset: this.before + offset, expected: this.expect })
  }
}
