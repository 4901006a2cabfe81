/** The result of scanning an object: positions in the scanned buffer, and the fingerprint. */

/**
 * All spans are [start, end); those of strings exclude the quotes and are the text in UTF-8, without escape sequences. An absent member has
 * the span [0, 0). Reused: valid until the next scan.
 */
export interface ScannedObject {
  readonly nameStart: number
  readonly nameEnd: number
  readonly namespaceStart: number
  readonly namespaceEnd: number
  readonly uidStart: number
  readonly uidEnd: number
  readonly resourceVersionStart: number
  readonly resourceVersionEnd: number
  /** Absent, like kind, in the items of a list of built-in types. */
  readonly apiVersionStart: number
  readonly apiVersionEnd: number
  readonly kindStart: number
  readonly kindEnd: number
  /** The JSON array, brackets included. */
  readonly ownerReferencesStart: number
  readonly ownerReferencesEnd: number
  /** Key, value and one neighbouring comma: cutting them out leaves valid JSON. */
  readonly managedFieldsStart: number
  readonly managedFieldsEnd: number
  /** Whether the annotation that ends the initial events of a streaming list is present and "true". */
  readonly initialEventsEnd: boolean
  /** Two signed 32-bit halves; both 0 where every version counts, which needs no fingerprint. */
  readonly fingerprintLow: number
  readonly fingerprintHigh: number
}
