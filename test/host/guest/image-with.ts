import type { GuestImage } from "../../../src/host/guest/guest-image.ts"

/** The image of a guest that waits for nothing, with that memory. */
export const imageWith = (memory: Uint8Array = new Uint8Array()): GuestImage => ({
  moduleHash: "00".repeat(32),
  nextId: 0n,
  operations: new Map(),
  globals: [],
  memory,
})
