/**
 * Tracks: where slices are drawn. The times of one track never go back, so its slices nest: an event that is earlier than the one before it
 * is drawn at the time of that one. Two clocks are the reason why it can be: times in a pod's status are by the clock of its node.
 */
import { hash } from "node:crypto"
import { type Annotations, eventPacket } from "./packets.ts"

/** Takes the bytes of packets, in order. */
export type PacketWriter = (packet: Uint8Array) => void

/** A number for a track, the same for the same text. Of 64 bits, so that two texts do not meet. */
export const trackUuid = (text: string): bigint => hash("sha256", text, "buffer").readBigUInt64LE() | 1n

/** Writes the events of one track. */
export class Track {
  readonly uuid: bigint
  readonly #write: PacketWriter
  #last = 0
  #open = 0

  constructor(uuid: bigint, write: PacketWriter) {
    this.uuid = uuid
    this.#write = write
  }

  /** The time of the last event; 0 before the first. */
  get last(): number {
    return this.#last
  }

  /** The number of slices that have begun and not ended. */
  get open(): number {
    return this.#open
  }

  begin(time: number, name: string, annotations: Annotations = {}): void {
    this.#open++
    this.#event("begin", time, name, annotations)
  }

  /** Ends the innermost slice; does nothing if none is open. What it says is added to what the begin said. */
  end(time: number, annotations: Annotations = {}): void {
    if (this.#open === 0) return
    this.#open--
    this.#event("end", time, undefined, annotations)
  }

  instant(time: number, name: string, annotations: Annotations = {}): void {
    this.#event("instant", time, name, annotations)
  }

  #event(type: "begin" | "end" | "instant", time: number, name: string | undefined, annotations: Annotations): void {
    this.#last = Math.max(this.#last, time)
    this.#write(eventPacket(type, this.uuid, this.#last, name, annotations))
  }
}
