/**
 * Where things lie in the module's memory, in bytes. simkube-simd.ts states the same numbers.
 *
 * AssemblyScript, not TypeScript, like all of this folder.
 */

/** H of the object's spec, 8 bytes. */
export const hash: usize = 0

/** What stands between the header of the object's map and its metadata: apiVersion, kind and the key "metadata", encoded. */
export const prefix: usize = 64

/** The members of all maps that are open, see members.ts. */
export const members: usize = 4096
export const membersEnd: usize = 65536

/** The object's bytes, `largest` at most, and 64 zeros behind them. */
export const input: usize = 65536
/** Bytes of an object. The usual one is a hundredth of it. */
export const largest: usize = 256 * 1024

/**
 * The encoded object. MessagePack is no longer than the JSON it stands for but for the prefix, three bytes for each string of
 * 64 KiB, and what a store of 16 bytes writes too much: 4 KiB are more than enough.
 */
export const output: usize = input + largest + 64
const outputBytes: usize = largest + 4096

/** Maps whose members change places. */
export const scratch: usize = output + outputBytes

/** The stream that is hashed. */
export const stream: usize = scratch + outputBytes
export const streamEnd: usize = stream + 512 * 1024
