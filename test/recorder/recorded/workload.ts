/** A seeded workload of a sandbox: creations, changes, deletions and re-creations at a given rate. */
import type { Sandbox } from "../../../src/sandbox/index.ts"
import { SeededWorkload } from "./seeded-workload.ts"

/** Objects per kind; few, so that names are reused often. */
const names = 200

export class Workload extends SeededWorkload {
  readonly #sandbox: Sandbox
  readonly #kinds: ReadonlyArray<string>
  readonly #text: (length: number) => string
  readonly #alive = new Set<string>()

  /** `text`: of which each object has some, for a length of up to 500. */
  constructor(
    sandbox: Sandbox,
    kinds: ReadonlyArray<string>,
    seed: number,
    text: (length: number) => string = (length) => "x".repeat(length),
  ) {
    super(seed)
    this.#text = text
    this.#sandbox = sandbox
    this.#kinds = kinds
  }

  /** One change of a random object of a random kind. */
  step(): void {
    const gvk = this.#kinds[this.below(this.#kinds.length)] as string
    const name = `object-${this.below(names)}`
    const key = `${gvk} ${name}`
    this.events++
    if (this.#alive.has(key) && this.below(5) === 0) {
      this.#alive.delete(key)
      this.#sandbox.delete(gvk, "load", name)
      return
    }
    this.#alive.add(key)
    this.#sandbox.put(gvk, {
      metadata: { namespace: "load", name, labels: { round: String(this.events) } },
      spec: { value: this.events, text: this.#text(this.below(500)) },
    })
  }
}
