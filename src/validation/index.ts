/**
 * What a replay of a trace would trip over, and its repair.
 *
 * Guarantee: one pass over a trace of any length, with memory for the objects that exist and the references that are open; each finding names its rule, its object and its place.
 */

export { type Finding, type Findings, findingKey, type RuleFindings } from "./findings.ts"
export { type RepairCounts, repairing, transformProgram } from "./repair.ts"
export type { Place, Rule, Subject } from "./rule.ts"
export { ruleNamed, rules } from "./rules.ts"
export {
  StateReader,
  TraceValidation,
  type ValidatedTrace,
  type ValidationOptions,
  type ValidationReport,
  validateTrace,
} from "./trace-validation.ts"
