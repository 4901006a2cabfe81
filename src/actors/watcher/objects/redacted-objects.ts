/**
 * Objects as they are recorded: with their values redacted, and scanned anew, so that fingerprint, owners and lifecycles are those of what is
 * recorded. Everything that a watcher keeps or sends comes from what this returns; an object in which nothing is replaced is passed on as it is.
 */
import { createHash, createHmac } from "node:crypto"
import {
  type DetectRules,
  ObjectRedactor,
  ObjectScanner,
  ObservedObject,
  type RedactionRules,
  scanObjectSlowly,
  UnreadableError,
} from "../../../kube/index.ts"

/** What a watcher replaces, and the key of the hashes. */
export interface KindRedaction {
  readonly rules: RedactionRules
  readonly key: Uint8Array
}

/** Reused for every object of one kind. */
export class RedactedObjects {
  readonly #redactor: ObjectRedactor
  readonly #scanner: ObjectScanner
  readonly #redacted: ObservedObject
  readonly #managedFields = { start: 0, end: 0 }
  /** How many values were replaced in the last object, in the order of `valueKinds`; `undefined`: none. */
  replaced: Uint32Array | undefined

  constructor(rules: DetectRules, redaction: KindRedaction) {
    this.#redactor = new ObjectRedactor(redaction.rules, redaction.key)
    this.#scanner = new ObjectScanner(rules)
    this.#redacted = new ObservedObject(this.#scanner)
  }

  /** The result is valid until the next call, and as long as `observed` is. */
  of(observed: Readonly<ObservedObject>): Readonly<ObservedObject> {
    const { scanned, start, end } = observed
    // What is read slowly has its spans behind the object, and possibly a member twice.
    const isUsual = scanned.uidStart < end
    this.#managedFields.start = scanned.managedFieldsStart
    this.#managedFields.end = scanned.managedFieldsEnd
    const redactor = this.#redactor
    this.replaced = undefined
    if (!redactor.redact(observed.bytes, start, end, isUsual ? this.#managedFields : undefined)) return observed
    const { bytes, length, replaced } = redactor.result
    this.replaced = replaced
    const redacted = this.#redacted
    redacted.action = observed.action
    redacted.fromList = observed.fromList
    redacted.version = observed.version
    redacted.timing = observed.timing
    redacted.stretch = observed.stretch
    redacted.happenedMicros = observed.happenedMicros
    redacted.sinceMicros = observed.sinceMicros
    redacted.created = observed.created
    redacted.written = observed.written
    redacted.writes = observed.writes
    redacted.fields = observed.fields
    redacted.isTerminating = observed.isTerminating
    if (this.#scanner.scan(bytes, 0, length)) {
      redacted.bytes = bytes
      redacted.start = 0
      redacted.end = length
      return redacted
    }
    // It could be read before, and hashes may make it longer than objects that are read slowly may be.
    const slow = scanObjectSlowly(this.#scanner, bytes, 0, length, Number.POSITIVE_INFINITY)
    if (slow instanceof UnreadableError) throw new Error(`a redacted object cannot be read: ${slow.reason}`)
    redacted.bytes = slow.bytes
    redacted.start = slow.start
    redacted.end = slow.end
    return redacted
  }
}

/**
 * Rules and key as a short text that says nothing about the key: recordings with different ones cannot be compared value by value.
 */
export const redactionIdentity = ({ rules, key }: KindRedaction): string => {
  const ofRules = createHash("sha256").update(JSON.stringify(rules)).digest("hex").slice(0, 8)
  const ofKey = createHmac("sha256", key).update("kubereel: the name of this key").digest("hex").slice(0, 8)
  return `rules ${ofRules}, key ${ofKey}`
}
