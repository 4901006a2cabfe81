/** The report of a validation for programs. Its version changes if a field is removed or changes its meaning. */
import type { ValidationReport } from "../../validation/trace-validation.ts"
import { placeText } from "./finding-text.ts"
import { countFindings } from "./report-lines.ts"

/** `cut`: why the trace could not be read to its end. Times are µs since the Unix epoch. */
export const reportJson = (trace: string, report: ValidationReport, cut: string | undefined) => ({
  version: 1,
  trace,
  isComplete: cut === undefined,
  ...(cut !== undefined && { cut }),
  states: report.states,
  deletions: report.deletions,
  unreadable: report.unreadable,
  errors: countFindings(report, "error"),
  warnings: countFindings(report, "warning"),
  unrecordedKinds: report.unrecordedKinds,
  notLookedFor: report.notLookedFor,
  rules: report.rules.map(({ rule: { code, name, severity, fix }, findings, unlisted }) => ({
    code,
    name,
    severity,
    hasFix: fix !== undefined,
    unlisted,
    findings: findings.map(({ subject, kind, name: missing, count, firstTime, places }) => ({
      gvk: subject.gvk,
      namespace: subject.namespace,
      name: subject.name,
      ...(kind !== "" && { missing: { kind, name: missing } }),
      states: count,
      firstTime,
      paths: places.map(placeText),
    })),
  })),
})
