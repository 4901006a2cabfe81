/** Records what a scan finds, member by member. */

import { isWhiteSpace, JsonBytes } from "../json/json-bytes.ts"

import { SimdResult } from "../simd/simd-scan.ts"
import { Capture } from "./member-trie.ts"
import type { ScannedObject } from "./scanned-object.ts"

const QUOTE = 34
const COMMA = 44
const OPEN_BRACKET = 91
const OPEN_BRACE = 123

/** "true" as a little-endian word. */
const TRUE = 0x65757274

/** The result of a scan, filled while the scanner that extends it walks. */
export abstract class ObjectReport implements ScannedObject {
  nameStart = 0
  nameEnd = 0
  namespaceStart = 0
  namespaceEnd = 0
  uidStart = 0
  uidEnd = 0
  resourceVersionStart = 0
  resourceVersionEnd = 0
  apiVersionStart = 0
  apiVersionEnd = 0
  kindStart = 0
  kindEnd = 0
  ownerReferencesStart = 0
  ownerReferencesEnd = 0
  managedFieldsStart = 0
  managedFieldsEnd = 0
  initialEventsEnd = false
  fingerprintLow = 0
  fingerprintHigh = 0

  /** The cursor, shared with the scanner of the line around the object. */
  readonly json: JsonBytes = new JsonBytes()
  protected hasMetadata = false

  protected forget(): void {
    this.hasMetadata = false
    this.nameStart = this.nameEnd = 0
    this.namespaceStart = this.namespaceEnd = 0
    this.uidStart = this.uidEnd = 0
    this.resourceVersionStart = this.resourceVersionEnd = 0
    this.apiVersionStart = this.apiVersionEnd = 0
    this.kindStart = this.kindEnd = 0
    this.ownerReferencesStart = this.ownerReferencesEnd = 0
    this.managedFieldsStart = this.managedFieldsEnd = 0
    this.initialEventsEnd = false
    this.fingerprintLow = this.fingerprintHigh = 0
  }

  /** Copies the results of the WebAssembly pass. */
  protected adopt(results: Int32Array): void {
    this.nameStart = results[Capture.name * 2] ?? 0
    this.nameEnd = results[Capture.name * 2 + 1] ?? 0
    this.namespaceStart = results[Capture.namespace * 2] ?? 0
    this.namespaceEnd = results[Capture.namespace * 2 + 1] ?? 0
    this.uidStart = results[Capture.uid * 2] ?? 0
    this.uidEnd = results[Capture.uid * 2 + 1] ?? 0
    this.resourceVersionStart = results[Capture.resourceVersion * 2] ?? 0
    this.resourceVersionEnd = results[Capture.resourceVersion * 2 + 1] ?? 0
    this.apiVersionStart = results[Capture.apiVersion * 2] ?? 0
    this.apiVersionEnd = results[Capture.apiVersion * 2 + 1] ?? 0
    this.kindStart = results[Capture.kind * 2] ?? 0
    this.kindEnd = results[Capture.kind * 2 + 1] ?? 0
    this.ownerReferencesStart = results[Capture.ownerReferences * 2] ?? 0
    this.ownerReferencesEnd = results[Capture.ownerReferences * 2 + 1] ?? 0
    this.managedFieldsStart = results[Capture.managedFields * 2] ?? 0
    this.managedFieldsEnd = results[Capture.managedFields * 2 + 1] ?? 0
    this.initialEventsEnd = results[SimdResult.initialEventsEnd] !== 0
    this.fingerprintLow = results[SimdResult.low] ?? 0
    this.fingerprintHigh = results[SimdResult.high] ?? 0
  }

  /** Records the position of a reported member: its key at `from`, its value at [start, end). False if its type is wrong. */
  protected report(capture: number, first: number, from: number, start: number, end: number): boolean {
    switch (capture) {
      case Capture.name:
        this.nameStart = start + 1
        this.nameEnd = end - 1
        return true
      case Capture.namespace:
        this.namespaceStart = start + 1
        this.namespaceEnd = end - 1
        return true
      case Capture.uid:
        this.uidStart = start + 1
        this.uidEnd = end - 1
        return true
      case Capture.resourceVersion:
        this.resourceVersionStart = start + 1
        this.resourceVersionEnd = end - 1
        return true
      case Capture.apiVersion:
        this.apiVersionStart = start + 1
        this.apiVersionEnd = end - 1
        return true
      case Capture.kind:
        this.kindStart = start + 1
        this.kindEnd = end - 1
        return true
      case Capture.metadata:
        this.hasMetadata = first === OPEN_BRACE
        return this.hasMetadata
      case Capture.ownerReferences:
        this.ownerReferencesStart = start
        this.ownerReferencesEnd = end
        return first === OPEN_BRACKET
      case Capture.managedFields:
        this.managedFieldsStart = from
        this.managedFieldsEnd = end
        return true
      default:
        this.initialEventsEnd =
          first === QUOTE && end - start === 6 && this.json.view.getInt32(start + 1, true) === TRUE
        return true
    }
  }

  /** Moves all spans: the object is at another position now. */
  move(distance: number): void {
    if (this.nameEnd !== 0) {
      this.nameStart += distance
      this.nameEnd += distance
    }
    if (this.namespaceEnd !== 0) {
      this.namespaceStart += distance
      this.namespaceEnd += distance
    }
    if (this.uidEnd !== 0) {
      this.uidStart += distance
      this.uidEnd += distance
    }
    if (this.resourceVersionEnd !== 0) {
      this.resourceVersionStart += distance
      this.resourceVersionEnd += distance
    }
    if (this.apiVersionEnd !== 0) {
      this.apiVersionStart += distance
      this.apiVersionEnd += distance
    }
    if (this.kindEnd !== 0) {
      this.kindStart += distance
      this.kindEnd += distance
    }
    if (this.ownerReferencesEnd !== 0) {
      this.ownerReferencesStart += distance
      this.ownerReferencesEnd += distance
    }
    if (this.managedFieldsEnd !== 0) {
      this.managedFieldsStart += distance
      this.managedFieldsEnd += distance
    }
  }

  /** Sets the span of managedFields from that of key and value: plus the comma after it, or else the one before it. */
  placeManagedFields(start: number, end: number): void {
    const view = this.json.view
    this.managedFieldsStart = start
    this.managedFieldsEnd = end
    const behind = this.json.skipSpace(end)
    if (view.getUint8(behind) === COMMA) {
      this.managedFieldsEnd = behind + 1
      return
    }
    let before = start - 1
    while (isWhiteSpace(view.getUint8(before))) before--
    if (view.getUint8(before) === COMMA) this.managedFieldsStart = before
  }
}
