/** Randomness as a capability: the random values of objects that a server creates. */

import { randomInt, randomUUID } from "node:crypto"

export interface Randomness {
  /** A UUID of version 4. */
  uid(): string
  /** `length` characters as the real server appends them to a `generateName`. */
  suffix(length: number): string
}

/** No vowels, no 0, 1 and 3, so that names contain no words. The set of apimachinery's rand package. */
const alphabet = "bcdfghjklmnpqrstvwxz2456789"

export const systemRandomness: Randomness = {
  uid: () => randomUUID(),
  suffix(length) {
    let text = ""
    while (text.length < length) text += alphabet[randomInt(alphabet.length)]
    return text
  },
}
