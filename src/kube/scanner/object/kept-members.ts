/**
 * Turns the members that count into a fingerprint while the scanner walks over an object.
 *
 * In every object that a rule reaches into, the fingerprint takes the kept members one by one, key and value, in their order; so neither
 * white space between tokens nor the comma next to an ignored member has an effect. An object whose members are all ignored leaves no
 * trace, as if it were absent; an empty one counts as `{}`.
 */

import type { JsonBytes } from "../json/json-bytes.ts"
import { copyWithoutWhiteSpace } from "../json/white-space.ts"
import { Fingerprint } from "./fingerprint.ts"

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
      const bracket = this.brackets[level] as number
      const keyStart = this.starts[level] as number
      const keyEnd = this.ends[level] as number
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
