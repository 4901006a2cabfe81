/**
 * Turns the members that count into a fingerprint while the scanner walks over an object.
 *
 * The fingerprint takes the kept members of every object that a rule reaches into one by one, key and value, in the
 * order in which they stand; so neither white space between tokens nor the comma next to an ignored member shows. An
 * object of which all members are ignored leaves no trace, as if it were absent; an empty one counts as `{}`.
 */

import type { JsonBytes } from "../json/json-bytes.ts"
import { copyWithoutWhiteSpace } from "../json/white-space.ts"
import { Fingerprint } from "./fingerprint.ts"

/** Tags of the fingerprint. What is entered is tagged with its bracket, which is above these. */
const WHOLE = 1
const CLOSE = 2

const absentSpec = Buffer.from('"spec":null')
const absentSpecView = new DataView(absentSpec.buffer, absentSpec.byteOffset, absentSpec.byteLength)

/** Reused for every object. */
export class KeptMembers {
  private readonly json: JsonBytes
  private readonly fingerprint = new Fingerprint()
  // What was entered, outermost first, by the span of its key and its opening bracket. The first `opened` of the
  // `depth` entries are in the fingerprint already; the others get there once something in them is kept.
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

  /** An object or array begins whose key stands at [start, end), quotes included; an empty span for array elements. */
  enter(start: number, end: number, bracket: number): void {
    const depth = this.depth++
    this.starts[depth] = start
    this.ends[depth] = end
    this.brackets[depth] = bracket
  }

  /** What was entered last is over. False when nothing in it was kept. */
  leave(): boolean {
    const depth = --this.depth
    if (this.opened <= depth) return false
    this.opened = depth
    this.fingerprint.mark(CLOSE)
    return true
  }

  /** A member or element at [start, end) counts. `spaced`: there may be white space in it. */
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

  /** Counts an absent spec as `"spec":null`, which is what SimKube's hash makes of it, if nothing was kept. */
  addAbsentSpec(): void {
    if (this.fingerprint.spans === 0) this.fingerprint.absorb(absentSpecView, 0, absentSpec.length, WHOLE)
  }

  /** The finished fingerprint; nothing may be added until the next reset. */
  finish(): Fingerprint {
    this.fingerprint.finish()
    return this.fingerprint
  }
}
