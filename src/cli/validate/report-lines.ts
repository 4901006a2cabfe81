/** The report of a validation for people: text grouped by rule with examples, or a table with a row for each rule. */

import type { Finding, Place, RuleFindings, Subject, ValidationReport } from "../../validation/index.ts"
import { alignedRows } from "../terminal/display-width.ts"
import { formatCount, formatInteger, instantText } from "../terminal/quantities.ts"

// Findings in words.

/** `apps/v1.Deployment shop/web`; the kind alone if the finding is about a kind. */
const subjectText = ({ gvk, namespace, name }: Subject): string => {
  const own = namespace === "" ? name : `${namespace}/${name}`
  return [gvk === "" ? "(no kind)" : gvk, own].filter((part) => part !== "").join(" ")
}

/** `Secret db`; where a finding is about the object itself, the field. */
const referenceText = ({ kind, name, places }: Pick<Finding, "kind" | "name" | "places">): string =>
  [kind, name].filter((part) => part !== "").join(" ") || places.map(placeText).join(", ")

/** `spec.template.spec.containers[*].env[*].valueFrom.secretKeyRef.name` */
export const placeText = ({ element, by }: Place): string => (element === "" ? by : `${element}.${by}`)

/** `apps/v1.Deployment shop/web: Secret db`; the subject alone if it is itself what is missing. */
const findingText = (finding: Pick<Finding, "subject" | "kind" | "name" | "places">): string =>
  finding.name !== "" && finding.name === finding.subject.name
    ? subjectText(finding.subject)
    : `${subjectText(finding.subject)}: ${referenceText(finding)}`

/** Findings shown of each rule: enough to recognise a pattern, few enough for one screen. */
const mostExamples = 5

/** Findings of rules with a severity. Those beyond the limit of a rule are not known one by one and do not count. */
export const countFindings = (report: ValidationReport, severity: "error" | "warning"): number =>
  report.rules.filter(({ rule }) => rule.severity === severity).reduce((sum, { findings }) => sum + findings.length, 0)

/** One line: what was checked and how much was found. */
const summaryLine = (name: string, report: ValidationReport): string => {
  const checked = `${name}: ${formatCount(report.states, "state")} of objects checked`
  const [errors, warnings] = [countFindings(report, "error"), countFindings(report, "warning")]
  if (errors + warnings === 0) return `${checked}, nothing found`
  const atLeast = report.rules.some(({ unlisted }) => unlisted > 0) ? "more than " : ""
  return `${checked}: ${atLeast}${formatCount(errors, "error")}, ${formatCount(warnings, "warning")}`
}

/** Remarks about the whole trace. */
const remarkLines = ({
  unrecordedKinds,
  notLookedFor,
  notAwaited,
  unreadable,
}: ValidationReport): ReadonlyArray<string> => [
  ...(unrecordedKinds.length === 0
    ? []
    : [`The trace has no objects at all of ${unrecordedKinds.join(", ")}: whatever refers to one is found above.`]),
  ...(notLookedFor.length === 0
    ? []
    : [`Owners of kinds that the trace does not have were not looked for: ${notLookedFor.join(", ")}.`]),
  ...(notAwaited === 0
    ? []
    : [
        `${formatCount(notAwaited, "reference")} count as missing although their objects may come later: too many are open.`,
      ]),
  ...(unreadable === 0 ? [] : [`${formatCount(unreadable, "state")} could not be checked: not a JSON object.`]),
]

/** Grouped by rule, with the first findings of each. */
export const reportText = (name: string, report: ValidationReport): ReadonlyArray<string> => [
  summaryLine(name, report),
  ...report.rules.flatMap((found) => ["", ...ruleText(found)]),
  ...remarkLines(report).flatMap((line) => ["", line]),
]

const ruleText = ({ rule, findings, unlisted }: RuleFindings): ReadonlyArray<string> => {
  const more = findings.length - mostExamples
  return [
    `${rule.code} ${rule.name} (${rule.severity}): ${unlisted > 0 ? "more than " : ""}${formatCount(findings.length, "finding")}. ${rule.summary}`,
    ...findings
      .slice(0, mostExamples)
      .map((finding) => `  ${findingText(finding)} (${timesText(finding.count)} ${instantText(finding.firstTime)})`),
    ...(more > 0 ? [`  and ${formatInteger(more)} more, which -o json lists`] : []),
    ...(unlisted > 0 ? [`  and ${formatCount(unlisted, "state")} with further ones, which are not listed`] : []),
  ]
}

const timesText = (count: number): string => (count === 1 ? "once," : `${formatInteger(count)} times, first`)

/** One row for each rule with findings. */
export const reportTable = (name: string, report: ValidationReport): ReadonlyArray<string> => [
  ...(report.rules.length === 0
    ? []
    : [
        ...alignedRows([
          ["CODE", "SEVERITY", "RULE", "FINDINGS", "STATES", "FIRST", "EXAMPLE"],
          ...report.rules.map(({ rule, findings, unlisted }) => {
            const [first] = findings
            const states = findings.reduce((sum, { count }) => sum + count, unlisted)
            return [
              rule.code,
              rule.severity,
              rule.name,
              `${unlisted > 0 ? ">" : ""}${formatInteger(findings.length)}`,
              formatInteger(states),
              first === undefined
                ? ""
                : instantText(findings.reduce((least, { firstTime }) => Math.min(least, firstTime), first.firstTime)),
              first === undefined ? "" : findingText(first),
            ]
          }),
        ]),
        "",
      ]),
  summaryLine(name, report),
  ...remarkLines(report),
]
