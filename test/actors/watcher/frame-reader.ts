/** Reads frames as the store would, one after another, and checks the rules that every frame must obey. */
import { expect } from "vitest"
import type { StoredObject } from "../../../src/wire/index.ts"
import { decodeObservations, type Gap, type NewObject, type Observations } from "../../../src/wire/observations.ts"

/** One event of a frame. */
export interface RecordedEvent {
  readonly action: "applied" | "deleted" | "vanished"
  readonly uid: string
  readonly name: string
  readonly version: string
  readonly time: number
  readonly epoch: number
  readonly json: string
}

/** A frame, decoded. */
export interface RecordedFrame {
  readonly events: ReadonlyArray<RecordedEvent>
  readonly gaps: ReadonlyArray<Gap>
  readonly epoch: number
  readonly completeThrough: string
  readonly bytes: number
}

const actions = ["", "applied", "deleted", "vanished"] as const

/** `resumed`: the objects alive before the first frame. */
export const readFrames = (
  payloads: ReadonlyArray<Uint8Array>,
  resumed: ReadonlyArray<StoredObject>,
): ReadonlyArray<RecordedFrame> => {
  const reader = new FrameReader(resumed)
  return payloads.map((payload) => reader.read(payload))
}

class FrameReader {
  readonly #objects: Map<number, NewObject>
  readonly #numbers: Map<string, number>
  /** The number of the live object with a name. */
  readonly #alive: Map<string, number>
  /** The epochs in which UIDs were deleted. */
  readonly #dead = new Map<string, number>()
  #time = 0

  constructor(resumed: ReadonlyArray<StoredObject>) {
    this.#objects = new Map(resumed.map((object) => [object.number, object]))
    this.#numbers = new Map(resumed.map(({ uid, number }) => [uid, number]))
    this.#alive = new Map(resumed.map((object) => [placeOf(object), object.number]))
  }

  read(payload: Uint8Array): RecordedFrame {
    const frame = decodeObservations(payload)
    for (let index = 0; index < frame.newObjectCount; index++) this.#meet(frame.newObject(index), frame.epoch)
    const { epoch, completeThrough } = frame
    return {
      events: Array.from({ length: frame.count }, (_, index) => this.#event(frame, index)),
      gaps: Array.from({ length: frame.gapCount }, (_, index) => frame.gap(index)),
      epoch,
      completeThrough,
      bytes: payload.length,
    }
  }

  #meet(object: NewObject, epoch: number): void {
    const { number, uid } = object
    // A number is assigned once, and a UID has one; but a backup brings deleted objects back, in a new history.
    if ((this.#dead.get(uid) ?? epoch) < epoch) {
      this.#dead.delete(uid)
      this.#numbers.delete(uid)
    }
    expect(this.#numbers.get(uid) ?? number).toBe(number)
    expect(this.#objects.get(number)?.uid ?? uid).toBe(uid)
    this.#numbers.set(uid, number)
    this.#objects.set(number, object)
  }

  #event(frame: Observations, index: number): RecordedEvent {
    const number = frame.objectNumber(index)
    const object = this.#objects.get(number)
    if (object === undefined) throw new Error(`object ${number} has an event before its name`)
    const { uid, name } = object
    const action = actions[frame.action(index)] as RecordedEvent["action"]
    const time = frame.time(index)
    // Times never decrease; a UID is deleted once; no two objects have the same name at the same time.
    expect(time).toBeGreaterThanOrEqual(this.#time)
    this.#time = time
    expect(this.#dead.has(uid)).toBe(false)
    expect([undefined, number]).toContain(this.#alive.get(placeOf(object)))
    if (action === "applied") this.#alive.set(placeOf(object), number)
    else {
      this.#alive.delete(placeOf(object))
      this.#dead.set(uid, frame.epoch)
    }
    const json = Buffer.from(frame.object(index)).toString()
    return { action, uid, name, version: frame.resourceVersionText(index), time, epoch: frame.epoch, json }
  }
}

const placeOf = ({ namespace, name }: NewObject): string => `${namespace}/${name}`

/** The objects alive after the frames, as the store would send them to the next life. */
export const storedAfter = (
  payloads: ReadonlyArray<Uint8Array>,
  resumed: ReadonlyArray<StoredObject>,
): ReadonlyArray<StoredObject> => {
  const objects = new Map(resumed.map((stored) => [stored.number, stored]))
  const identities = new Map<number, NewObject>(objects)
  for (const payload of payloads) {
    const frame = decodeObservations(payload)
    for (let index = 0; index < frame.newObjectCount; index++) {
      identities.set(frame.newObject(index).number, frame.newObject(index))
    }
    for (let index = 0; index < frame.count; index++) {
      const number = frame.objectNumber(index)
      const identity = identities.get(number)
      if (identity === undefined) throw new Error(`object ${number} was never named`)
      const { uid, namespace, name } = identity
      const fingerprintLow = frame.fingerprintLow(index)
      const fingerprintHigh = frame.fingerprintHigh(index)
      const version = frame.hasOpaqueVersions ? frame.resourceVersionText(index) : frame.resourceVersion(index)
      if (frame.action(index) !== 1) objects.delete(number)
      else objects.set(number, { number, uid, namespace, name, version, fingerprintLow, fingerprintHigh })
    }
  }
  return [...objects.values()]
}
