/**
 * Writes a trace as one file of HTML: the page of src/ui with everything that it shows, in chunks that are compressed and written as text. The page reads the
 * columns of all chunks when it is opened (src/ui/file), and the objects of a chunk when they are looked at.
 *
 * Guaranteed: no change is left out, whatever the length of the trace; nothing from the trace can become markup or script. Objects that are not JSON are in
 * the file and are said to be unreadable.
 *
 * Memory: names of objects that are alive, one chunk (state-chunk.ts), what the trace lacks, and {@link MOST_FINDINGS} findings.
 */

import { constants, zstdCompressSync } from "node:zlib"
import { isRecord } from "../../../is-record.ts"
import { type BuiltPage, builtPage, dataBlock, inlinedPage, PageNotBuilt, scriptJson } from "../../../page/index.ts"
import {
  type Finding,
  FindingTracker,
  type Health,
  type LaneObject,
  type Tone,
  tones,
} from "../../../timeline/index.ts"
import type { GapEvent, ObjectEvent } from "../../event.ts"
import { type LeftOut, nothingLeftOut, type TraceEncoder, UnwritableTraceError } from "../../formats/format.ts"
import { metadataIn } from "../../sanitising/managed-fields.ts"
import type { TraceHeader, TraceItem } from "../../trace-item.ts"
import { EventColumns, eventBits, eventTypes } from "./event-columns.ts"
import { lacksOf, MOST_GAPS } from "./lacks.ts"
import { StateChunk, type Written } from "./state-chunk.ts"
import { healthIn, UNREADABLE } from "./state-judge.ts"

/** Events of a chunk. */
const MOST_EVENTS = 100_000
/** Findings in the file: the first ones. The page lists them all. */
const MOST_FINDINGS = 10_000
const COMPRESSION_LEVEL = 3

/** What a page is called, and what it is made of. */
export interface HtmlOptions {
  /** Default: that it shows a cluster. */
  readonly title?: string
  /** Default: what the build made. */
  readonly page?: BuiltPage
}

/** One encoder for one trace. @throws UnwritableTraceError: the page was not built */
export const htmlEncoder = (options: HtmlOptions = {}): TraceEncoder => {
  try {
    return new HtmlEncoder(options)
  } catch (cause) {
    if (cause instanceof PageNotBuilt) throw new UnwritableTraceError({ format: "html", detail: cause.message })
    throw cause
  }
}

/** An object that is alive. */
interface Known extends LaneObject {
  readonly number: number
  readonly lane: string
  /** Whether owners were written for it. */
  hasOwners: boolean
  named: NamedIn
  health: Health | typeof UNREADABLE | undefined
  /** The same of the last whole state (state-chunk.ts), of which states that follow are edits. */
  whole: { readonly named: NamedIn; readonly health: Health | typeof UNREADABLE | undefined }
}

/** Which of two members an object's bytes name, wherever: searching for both takes 1 µs. */
interface NamedIn {
  readonly owners: boolean
  readonly deletion: boolean
}

class HtmlEncoder implements TraceEncoder {
  readonly leftOut: LeftOut = nothingLeftOut
  readonly #tail: string
  readonly #chunk = new StateChunk()
  readonly #columns = new EventColumns()
  readonly #kinds = new Map<string, { readonly rank: number; readonly alive: Map<string, Known> }>()
  /** The rank of the kind of each object of the chunk. */
  #ranks = new Map<number, number>()
  readonly #totals = { objects: 0, events: 0, gaps: 0, findings: 0, unreadable: 0 }
  readonly #span = { from: Number.POSITIVE_INFINITY, to: 0 }
  readonly #gaps: GapEvent[] = []
  readonly #findings: Finding[] = []
  readonly #tracker = new FindingTracker((finding) => {
    this.#totals.findings++
    const { gvk, namespace, name, uid } = finding.object
    if (this.#findings.length < MOST_FINDINGS)
      this.#findings.push({ ...finding, object: { gvk, namespace, name, uid } })
  })
  #header: TraceHeader = { cut: 0, kinds: [], incomplete: [] }
  /** What is written and not taken yet. */
  readonly #ready: string[]
  #flushing: Iterator<string> | undefined

  constructor({ title = "What happened in the cluster", page = builtPage() }: HtmlOptions) {
    const { head, tail } = inlinedPage(page, { title, source: { type: "file", name: title } })
    this.#ready = [head]
    this.#tail = tail
  }

  add(item: TraceItem): void {
    if (item.type === "header") this.#header = item
    else if (item.type === "event" && item.event.type === "gap") this.#gap(item.event)
    else if (item.type === "event" && item.event.type === "object") this.#object(item.event, item.isSnapshot)
  }

  take(): Uint8Array | undefined {
    const next = this.#ready.shift() ?? this.#next()
    return next === undefined ? undefined : Buffer.from(next)
  }

  *finish(): Generator<Uint8Array> {
    this.#flush()
    for (let piece = this.take(); piece !== undefined; piece = this.take()) yield piece
    const { from, to } = this.#window()
    this.#tracker.finish(to)
    const { kinds, withoutStatus, sanitised } = this.#header
    const facts = {
      ...{ version: 1, from, to, ...this.#totals, withoutStatus, sanitised },
      kinds: [...new Set([...kinds, ...this.#kinds.keys()])],
      lacks: lacksOf(this.#header, this.#gaps, { from, to }),
      findings: this.#findings,
    }
    yield Buffer.from(`<script type="application/json" id="facts">${scriptJson(facts)}</script>\n`)
    yield Buffer.from(this.#tail)
  }

  /** Both ends inclusive. */
  #window(): { readonly from: number; readonly to: number } {
    const { from, to } = this.#span
    const { window } = this.#header
    const start = window?.start ?? (Number.isFinite(from) ? from : 0)
    return { from: start, to: Math.max(start, window === undefined ? to : window.end - 1) }
  }

  #gap(gap: GapEvent): void {
    this.#totals.gaps++
    if (this.#gaps.length < MOST_GAPS) this.#gaps.push(gap)
  }

  #object(event: ObjectEvent, isSnapshot: boolean): void {
    const { gvk, action, time, object } = event
    if (this.#columns.count === MOST_EVENTS || this.#chunk.isFullFor(object.length)) this.#flush()
    const kind = this.#kindOf(gvk)
    const key = keyOf(event)
    const found = kind.alive.get(key)
    const known = found ?? newlyKnown(event, this.#totals.objects++)
    if (found === undefined) kind.alive.set(key, known)
    const bytes = Buffer.isBuffer(object) ? object : Buffer.from(object.buffer, object.byteOffset, object.length)
    let flags: number = isSnapshot ? eventTypes.listed : eventTypes[action]
    // Of all that did not vanish there is a state, be it empty.
    if (action !== "vanished") {
      const { written, isCut } = this.#state(known, kind.rank, bytes, event.resourceVersion)
      if (isCut) flags |= eventBits.versionCut
      judge(known, bytes, written)
    }
    if (found === undefined || (bytes.length > 0 && known.hasOwners !== known.named.owners)) {
      known.hasOwners = known.named.owners
      const { number, namespace, name, uid } = known
      this.#columns.name([number, gvk, namespace, name, uid, known.hasOwners ? ownersIn(bytes) : []])
    }
    let tone: Tone = tones.absent
    const health = action === "applied" ? known.health : undefined
    if (health === UNREADABLE) {
      this.#totals.unreadable++
      flags |= eventBits.unreadable
      tone = tones.plain
    } else {
      if (health !== undefined) tone = health.tone
      const at = isSnapshot ? Math.max(time, this.#header.window?.start ?? time) : time
      this.#tracker.observe({ lane: known.lane, object: known, time: at, health, isFirst: found === undefined })
    }
    const { sequence, resourceVersion } = event
    this.#columns.add({ time, sequence, resourceVersion, object: known.number, tone, flags })
    this.#totals.events++
    this.#span.from = Math.min(this.#span.from, time)
    this.#span.to = Math.max(this.#span.to, time)
    if (action !== "applied") kind.alive.delete(key)
  }

  /** Adds a state, without its version where that is in the column. */
  #state({ number }: Known, rank: number, bytes: Buffer, resourceVersion: string) {
    this.#ranks.set(number, rank)
    const cut = versionIn(bytes, resourceVersion)
    const isCut = cut >= 0
    const [from, until] = isCut ? [cut, cut + resourceVersion.length] : [bytes.length, bytes.length]
    return { written: this.#chunk.add(number, bytes, from, until), isCut }
  }

  #kindOf(gvk: string): { readonly rank: number; readonly alive: Map<string, Known> } {
    const known = this.#kinds.get(gvk)
    if (known !== undefined) return known
    const kind = { rank: this.#kinds.size, alive: new Map<string, Known>() }
    this.#kinds.set(gvk, kind)
    return kind
  }

  #flush(): void {
    for (let next = this.#next(); next !== undefined; next = this.#next()) this.#ready.push(next)
    if (this.#columns.count > 0) this.#flushing = this.#blocks()
  }

  /** The next block of a chunk that is being written: chunks are written block by block, so that an encoder's turns are some ms. */
  #next(): string | undefined {
    const next = this.#flushing?.next()
    if (next?.done !== false) this.#flushing = undefined
    return next?.done === false ? next.value : undefined
  }

  *#blocks(): Generator<string, void> {
    const ranks = this.#ranks
    for (const { objects, bytes } of this.#chunk.take((object) => ranks.get(object) ?? 0)) {
      this.#columns.piece(objects)
      yield dataBlock("states", encoded(bytes))
    }
    this.#ranks = new Map()
    yield dataBlock("events", encoded(this.#columns.take()))
  }
}

const QUOTE = 0x22
const versionKey = Buffer.from('"resourceVersion":"')
const ownersName = Buffer.from('"ownerReferences"')
const deletionName = Buffer.from('"deletionTimestamp"')

/** Traces of other tools have no UIDs. */
const keyOf = ({ uid, namespace, name }: ObjectEvent): string => (uid === "" ? `${namespace}/${name}` : uid)

const nothingNamed: NamedIn = { owners: false, deletion: false }

const newlyKnown = ({ gvk, namespace, name, uid }: ObjectEvent, number: number): Known => ({
  ...{ number, lane: `object/${number}`, gvk, namespace, name, uid, hasOwners: false, named: nothingNamed },
  health: undefined,
  whole: { named: nothingNamed, health: undefined },
})

/** Notes how an object is and what its bytes name: what its edits leave as it was, is not looked for again. */
const judge = (known: Known, bytes: Buffer, written: Written): void => {
  const { whole } = known
  known.named = written === "digits" || written === "texts" ? whole.named : namedIn(bytes)
  // A message about what is wrong may have digits.
  const isSame =
    written === "texts" && whole.health !== UNREADABLE && whole.health !== undefined && isWell(whole.health)
  known.health = isSame ? whole.health : healthIn(known.gvk, bytes, known.named.deletion)
  if (written === "whole") known.whole = { named: known.named, health: known.health }
}

const isWell = ({ wrong, failedBefore }: Health): boolean => wrong === undefined && failedBefore === undefined

const namedIn = (bytes: Buffer): NamedIn => ({
  owners: bytes.includes(ownersName),
  deletion: bytes.includes(deletionName),
})

/** Where the bytes have the version; -1: not where API servers write it. */
const versionIn = (bytes: Buffer, resourceVersion: string): number => {
  const key = bytes.indexOf(versionKey)
  if (key < 0 || resourceVersion === "") return -1
  const at = key + versionKey.length
  const end = at + resourceVersion.length
  return bytes[end] === QUOTE && bytes.toString("latin1", at, end) === resourceVersion ? at : -1
}

/** The controller first. Traces of other tools have owners without UIDs. */
const ownersIn = (object: Buffer): ReadonlyArray<readonly [gvk: string, name: string, uid: string]> => {
  const references = metadataIn(object)?.ownerReferences
  const owners = Array.isArray(references) ? references.filter(isRecord) : []
  const isController = ({ controller }: Readonly<Record<string, unknown>>): boolean => controller === true
  return [...owners.filter(isController), ...owners.filter((each) => !isController(each))].flatMap(
    ({ apiVersion, kind, name, uid }) =>
      typeof apiVersion !== "string" || typeof kind !== "string" || typeof name !== "string"
        ? []
        : [[`${apiVersion}.${kind}`, name, typeof uid === "string" ? uid : ""] as const],
  )
}

const parameters = { params: { [constants.ZSTD_c_compressionLevel]: COMPRESSION_LEVEL } }

const encoded = (bytes: Buffer): string => zstdCompressSync(bytes, parameters).toString("base64")
