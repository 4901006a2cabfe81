/**
 * The members of an object that the scanner treats specially, reported ones and those of change rules, in one tree. A
 * node has mutable state of one scanner (`seen`).
 */

import { copyWithoutWhiteSpace, type JsonBytes } from "../json/json-bytes.ts"
import type { DetectNode, DetectRules } from "./detect-rules.ts"
import { Fingerprint } from "./fingerprint.ts"

// Turns the members that count into a fingerprint while the scanner walks over an object.

/** Tags of the fingerprint. An entered object or array has its bracket as tag; brackets are larger than these. */
const WHOLE = 1
const CLOSE = 2

const absentSpec = Buffer.from('"spec":null')
const absentSpecView = new DataView(absentSpec.buffer, absentSpec.byteOffset, absentSpec.byteLength)

/** Reused for every object. */
export class KeptMembers {
  private readonly json: JsonBytes
  private readonly fingerprint = new Fingerprint()
  // The entered objects and arrays, outermost first: the span of the key and the opening bracket. The first `opened` of the `depth` entries
  // are in the fingerprint already; the others are added once something in them is kept.
  private depth = 0
  private opened = 0
  private readonly starts: number[] = []
  private readonly ends: number[] = []
  private readonly brackets: number[] = []
  private scratch = Buffer.alloc(0)
  private scratchView = new DataView(new ArrayBuffer(0))

  constructor(json: JsonBytes) {
    this.json = json
  }

  reset(): void {
    this.depth = 0
    this.opened = 0
    this.fingerprint.reset()
  }

  /** Enters an object or array whose key is at [start, end), quotes included; an empty span for array elements. */
  enter(start: number, end: number, bracket: number): void {
    const depth = this.depth++
    this.starts[depth] = start
    this.ends[depth] = end
    this.brackets[depth] = bracket
  }

  /** Leaves what was entered last. Returns false if nothing in it was kept. */
  leave(): boolean {
    const depth = --this.depth
    if (this.opened <= depth) return false
    this.opened = depth
    this.fingerprint.mark(CLOSE)
    return true
  }

  /** Adds a member or element at [start, end). `spaced`: it may contain white space. */
  add(start: number, end: number, spaced: boolean): void {
    const fingerprint = this.fingerprint
    const view = this.json.view
    while (this.opened < this.depth) {
      const level = this.opened++
      const bracket = this.brackets[level] ?? 0
      const keyStart = this.starts[level] ?? 0
      const keyEnd = this.ends[level] ?? 0
      if (keyStart < keyEnd) fingerprint.absorb(view, keyStart, keyEnd, bracket)
      else fingerprint.mark(bracket)
    }
    if (!spaced) {
      fingerprint.absorb(view, start, end, WHOLE)
      return
    }
    if (this.scratch.length < end - start) {
      this.scratch = Buffer.allocUnsafeSlow((end - start) * 2)
      this.scratchView = new DataView(this.scratch.buffer, this.scratch.byteOffset, this.scratch.byteLength)
    }
    const compactEnd = copyWithoutWhiteSpace(this.json.bytes, start, end, this.scratch, 0)
    fingerprint.absorb(this.scratchView, 0, compactEnd, WHOLE)
  }

  /** If nothing was kept, counts the absent spec as `"spec":null`, as SimKube's hash does. */
  addAbsentSpec(): void {
    if (this.fingerprint.spans === 0) this.fingerprint.absorb(absentSpecView, 0, absentSpec.length, WHOLE)
  }

  /** The finished fingerprint; nothing may be added until the next reset. */
  finish(): Fingerprint {
    this.fingerprint.finish()
    return this.fingerprint
  }
}

/** What the scanner does with a member besides skipping it. 0: nothing. */
export const Capture = {
  none: 0,
  name: 1,
  namespace: 2,
  uid: 3,
  resourceVersion: 4,
  apiVersion: 5,
  kind: 6,
  /** The captures up to this number are strings. */
  lastString: 6,
  metadata: 7,
  ownerReferences: 8,
  managedFields: 9,
  initialEventsEnd: 10,
} as const

interface CaptureNode {
  readonly capture: number
  readonly children?: Readonly<Record<string, CaptureNode>>
}

const captures: CaptureNode = {
  capture: Capture.none,
  children: {
    apiVersion: { capture: Capture.apiVersion },
    kind: { capture: Capture.kind },
    metadata: {
      capture: Capture.metadata,
      children: {
        name: { capture: Capture.name },
        namespace: { capture: Capture.namespace },
        uid: { capture: Capture.uid },
        resourceVersion: { capture: Capture.resourceVersion },
        ownerReferences: { capture: Capture.ownerReferences },
        managedFields: { capture: Capture.managedFields },
        annotations: {
          capture: Capture.none,
          children: { "k8s.io/initial-events-end": { capture: Capture.initialEventsEnd } },
        },
      },
    },
  },
}

const none: MemberNode[] = []

/** One member, or the object itself. */
export class MemberNode {
  /** The key in JSON, without quotes, with escape sequences only where JSON requires them. */
  readonly key: Buffer
  /** Its bytes as four-byte words, the last one overlapping if needed; empty for keys shorter than four bytes. */
  readonly words: Int32Array
  readonly capture: number
  /** Whether the value counts in the fingerprint, except where a child says otherwise. */
  readonly keep: boolean
  /** Whether an object or array here must be entered. */
  readonly inner: boolean
  /** Children by the length of their key in bytes; lengths without a child have an empty list. */
  readonly byLength: ReadonlyArray<ReadonlyArray<MemberNode>>
  /** Children whose key is an array index. */
  readonly byIndex: ReadonlyMap<number, MemberNode>
  /** Children by the text of their key. */
  readonly byName: ReadonlyMap<string, MemberNode>
  /** Number of the scan that last found this member: finding it twice in one scan means a duplicate key. */
  seen = 0

  constructor(key: string, capture: number, keep: boolean, byName: ReadonlyMap<string, MemberNode>) {
    const children = [...byName.values()]
    this.key = Buffer.from(JSON.stringify(key).slice(1, -1))
    this.words = wordsOf(this.key)
    this.capture = capture
    this.keep = keep
    this.inner = children.length > 0
    this.byName = byName
    const longest = children.reduce((most, child) => Math.max(most, child.key.length), -1)
    this.byLength = Array.from({ length: longest + 1 }, (_, length) => {
      const list = children.filter((child) => child.key.length === length)
      return list.length === 0 ? none : list
    })
    this.byIndex = new Map(
      [...byName].flatMap(([name, child]) =>
        /^(?:0|[1-9]\d{0,8})$/.test(name) ? [[Number(name), child] as const] : [],
      ),
    )
  }

  /** The child whose key is at [start, end) of `view`. */
  find(view: DataView, start: number, end: number): MemberNode | undefined {
    const length = end - start
    if (length >= this.byLength.length) return undefined
    const candidates = this.byLength[length] as ReadonlyArray<MemberNode>
    for (let index = 0; index < candidates.length; index++) {
      const candidate = candidates[index] as MemberNode
      if (candidate.matches(view, start, length)) return candidate
    }
    return undefined
  }

  private matches(view: DataView, start: number, length: number): boolean {
    const words = this.words
    if (words.length === 0) {
      for (let index = 0; index < length; index++) if (view.getUint8(start + index) !== this.key[index]) return false
      return true
    }
    const last = words.length - 1
    for (let index = 0; index < last; index++) if (view.getInt32(start + index * 4, true) !== words[index]) return false
    return view.getInt32(start + length - 4, true) === words[last]
  }
}

const wordsOf = (key: Buffer): Int32Array =>
  key.length < 4
    ? new Int32Array(0)
    : Int32Array.from({ length: Math.ceil(key.length / 4) }, (_, index) =>
        key.readInt32LE(Math.min(index * 4, key.length - 4)),
      )

const compile = (key: string, detect: DetectNode, capture: CaptureNode | undefined): MemberNode => {
  const names = new Set([...detect.children.keys(), ...Object.keys(capture?.children ?? {})])
  const inherited: DetectNode = { keep: detect.keep, children: new Map() }
  const children = new Map(
    [...names].map((name) => [name, compile(name, detect.children.get(name) ?? inherited, ownChild(capture, name))]),
  )
  return new MemberNode(key, capture?.capture ?? Capture.none, detect.keep, children)
}

const ownChild = (capture: CaptureNode | undefined, name: string): CaptureNode | undefined =>
  capture?.children !== undefined && Object.hasOwn(capture.children, name) ? capture.children[name] : undefined

/** The tree for one kind. Not shared between scanners. */
export const compileMemberTrie = (rules: DetectRules): MemberNode => compile("", rules.root, captures)
