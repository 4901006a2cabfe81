/** Replaces secret values in the objects of a log, as a recorder does before anything of an object is kept. */
import { ObjectRedactor, type RedactionSettings, redactionOf, ValueHash } from "../kube/index.ts"
import { formatGvk, parseGvk, RedactedSums } from "../kube/offline.ts"

/** Memory: one redactor for each kind. */
export class ObjectRedaction {
  /** How many values were replaced. */
  readonly sums = new RedactedSums()
  readonly #hash: ValueHash
  readonly #settings: RedactionSettings
  readonly #secretsInPlainText: boolean
  readonly #redactors = new Map<string, ObjectRedactor | undefined>()

  /**
   * @param key with which secret values are hashed. @param secretsInPlainText true: values of Secrets are not replaced.
   */
  constructor(key: Uint8Array, settings: RedactionSettings, secretsInPlainText: boolean) {
    this.#settings = settings
    this.#hash = new ValueHash(key)
    this.#secretsInPlainText = secretsInPlainText
  }

  /**
   * The object without secret values: the bytes themselves, or others that are valid until the next call. `gvk`: as a
   * trace writes it.
   */
  redacted(gvk: string, object: Buffer): Buffer {
    if (!this.#redactors.has(gvk)) this.#redactors.set(gvk, this.#redactorOf(gvk))
    const redactor = this.#redactors.get(gvk)
    const redacted = redactor?.redacted(object, 0, object.length)
    if (redactor === undefined || redacted === undefined) return object
    this.sums.add(gvk, redactor.result.replaced)
    return redacted
  }

  #redactorOf(gvk: string): ObjectRedactor | undefined {
    const parsed = parseGvk(gvk)
    if (parsed === undefined || formatGvk(parsed) !== gvk) throw new Error(`not a kind: ${gvk}`)
    const rules = redactionOf(parsed, this.#settings, { secretsInPlainText: this.#secretsInPlainText })
    return rules && new ObjectRedactor(rules, this.#hash)
  }
}
