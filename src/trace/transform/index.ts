/**
 * The transform language: programs that change the objects of a trace. A door of its own, as its parser is loaded with the first program.
 *
 * Guarantee: a program that parses runs in bounded steps and memory, on threads of its own, and the same trace and program have the same result.
 */

export { insertionsOf } from "./batch-builder.ts"
export { faultAt, longestProgram, ProgramError, parseCondition, parseProgram } from "./language/parse-program.ts"
export type { Condition, Program } from "./language/program.ts"
export { runBatch, type TransformSample } from "./object-batch.ts"
export { testOf } from "./run-program.ts"
export { TransformFailed } from "./transform-failed.ts"
export { TransformThreads } from "./transform-threads.ts"
export { noTransformation, type TransformCounts, transformedItems } from "./transformed-items.ts"
