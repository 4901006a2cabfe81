/**
 * Positions in the module's memory, in bytes. simkube-simd.ts uses the same numbers.
 *
 * AssemblyScript, not TypeScript, like all of this folder.
 */

/** H of the object's spec, 8 bytes. */
export const hash: usize = 0

/** A hash of the encoded object, 16 bytes. */
export const state: usize = 16

/** The bytes between the header of the object's map and its metadata: apiVersion, kind and the key "metadata", encoded. */
export const prefix: usize = 64

/** The members of all open maps, see members.ts. */
export const members: usize = 4096
export const membersEnd: usize = 65536

/** The object's bytes, at most `largest`, and 64 zeros after them. */
export const input: usize = 65536
/** Largest object in bytes. The usual one is a hundredth of it. */
export const largest: usize = 256 * 1024

/**
 * The encoded object. MessagePack is at most as long as its JSON plus the prefix, three bytes for each string of 64 KiB, and what a 16-byte
 * store writes beyond the end: 4 KiB are more than enough.
 */
export const output: usize = input + largest + 64
const outputBytes: usize = largest + 4096

/** Maps whose members are being reordered. */
export const scratch: usize = output + outputBytes

/** The stream that is hashed. */
export const stream: usize = scratch + outputBytes
export const streamEnd: usize = stream + 512 * 1024
