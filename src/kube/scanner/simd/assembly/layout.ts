/**
 * Positions in the module's memory, in bytes. simd-scan.ts and object-scanner.ts use the same numbers.
 *
 * AssemblyScript, not TypeScript, like all of this folder.
 */

/** One byte per open bracket: the byte that closes the one around it. */
export const brackets: usize = 0
/** Brackets that may be open inside one value. */
export const deepest: usize = 4096

/** The results of a scan, as words of 32 bits; see scan.ts. */
export const results: usize = 4096

/** Keys of the entered objects: the start and end of each. */
export const entered: usize = 5120

/** The rules, written by object-scanner.ts. */
export const rules: usize = 8192

/** The bytes to scan, 1 MiB at most, and room for the blanks after them. */
export const input: usize = 65536

/** The positions of the quotes, four bytes each; at most one per byte, and room for what the last block writes beyond the end. */
export const positions: usize = 65536 + 1024 * 1024 + 65536
