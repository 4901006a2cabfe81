/**
 * Where things lie in the module's memory, in bytes. simd-scan.ts and simd-rules.ts state the same numbers.
 *
 * AssemblyScript, not TypeScript, like all of this folder.
 */

/** One byte per open bracket: the byte that closes the one around it. */
export const brackets: usize = 0
/** Brackets that may be open inside one value. */
export const deepest: usize = 4096

/** What a scan found, as words of 32 bits; see scan.ts. */
export const results: usize = 4096

/** Keys of the objects that were entered: where each begins, and where it ends. */
export const entered: usize = 5120

/** The rules, written by simd-rules.ts. */
export const rules: usize = 8192

/** The bytes to scan, 1 MiB at most, and room for the blanks behind them. */
export const input: usize = 65536

/** Where the quotes stand, each in four bytes; at most one for every byte, and room for what a block writes too much. */
export const positions: usize = 65536 + 1024 * 1024 + 65536
