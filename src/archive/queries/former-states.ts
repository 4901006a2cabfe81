/**
 * The states of objects before their changes, for an answer that goes through changes in order: what was just read is kept, up to a number of bytes, and
 * everything else is looked up in tables of contents and read from its block.
 */
import { LastStates } from "../checkpoints/last-states.ts"
import type { KeptKind } from "../rows/kind-table.ts"
import type { DamageFound } from "./damage-found.ts"
import type { QueriedRecording } from "./queried-recording.ts"

/** bytes of objects kept: the state of 5,000 Deployments. */
const KEPT_BYTES = 16 * 1024 * 1024

export class FormerStates {
  readonly #damage: DamageFound
  readonly #lastStates: LastStates
  /** By kind and number, least recently kept first, as a Map iterates. */
  readonly #kept = new Map<string, Uint8Array>()
  #bytes = 0
  /** By kind and number, the last event with bytes that was passed: looking it up would mean sorting all events since a checkpoint. */
  readonly #passed = new Map<number, Map<number, number>>()

  constructor({ source, history }: QueriedRecording, damage: DamageFound) {
    this.#damage = damage
    this.#lastStates = new LastStates(source, history)
  }

  /**
   * Sequence number of the object's last event with bytes before another event; `undefined`: it had none. `isIntroduced`: the event is of the frame that
   * introduced the object, so that only an event of this frame can precede it.
   */
  sequenceBefore(kind: KeptKind, number: number, sequence: number, isIntroduced: boolean): number | undefined {
    const passed = this.#passed.get(kind.id)?.get(number)
    return passed ?? (isIntroduced ? undefined : this.#lastStates.sequenceBefore(kind, number, sequence))
  }

  /** Its bytes, as a copy; `undefined` as well if they are damaged. Reads another block. */
  objectBefore(kind: KeptKind, number: number, sequence: number): Uint8Array | undefined {
    const kept = this.#kept.get(keyOf(kind, number))
    if (kept !== undefined) return kept
    const former = this.sequenceBefore(kind, number, sequence, false)
    const event = former === undefined ? undefined : this.#damage.event(kind, former)
    return event === undefined ? undefined : Uint8Array.from(event.object)
  }

  /** To be called with each event that has bytes, in order. */
  pass(kind: KeptKind, number: number, sequence: number): void {
    let passed = this.#passed.get(kind.id)
    if (passed === undefined) {
      passed = new Map()
      this.#passed.set(kind.id, passed)
    }
    passed.set(number, sequence)
  }

  /** Keeps the bytes of the event that was just passed. */
  keep(kind: KeptKind, number: number, object: Uint8Array): void {
    const key = keyOf(kind, number)
    this.#drop(key)
    this.#kept.set(key, Uint8Array.from(object))
    this.#bytes += object.length
    for (const oldest of this.#kept.keys()) {
      if (this.#bytes <= KEPT_BYTES) break
      this.#drop(oldest)
    }
  }

  #drop(key: string): void {
    this.#bytes -= this.#kept.get(key)?.length ?? 0
    this.#kept.delete(key)
  }
}

const keyOf = ({ id }: KeptKind, number: number): string => `${id} ${number}`
