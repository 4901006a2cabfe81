/**
 * The report of a validation as SARIF 2.1.0 (OASIS), which code hosts and editors show. A trace has no lines: the artifact is the file, and
 * the place in it is a logical location with the object's name.
 */
import { pathToFileURL } from "node:url"
import type { Finding } from "../../validation/findings.ts"
import { rules } from "../../validation/rules.ts"
import type { ValidationReport } from "../../validation/trace-validation.ts"
import { readVersion } from "../command-line/version.ts"
import { findingText, placeText, subjectText } from "./report-lines.ts"

/** Address of the schema of this version, as the standard asks for. */
const schema = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

/** A relative reference, so that a code host finds the file in its checkout; standard input has none. */
const addressOf = (trace: string): string =>
  trace === "-"
    ? "stdin"
    : trace.startsWith("/")
      ? pathToFileURL(trace).href
      : trace.split("/").map(encodeURIComponent).join("/")

/** The log, with one run. `cut`: why the trace could not be read to its end. */
export const sarifLog = (trace: string, report: ValidationReport, cut: string | undefined) => {
  const uri = addressOf(trace)
  const ruleIndexes = new Map(rules.map((rule, index) => [rule, index]))
  return {
    $schema: schema,
    version: "2.1.0",
    runs: [
      {
        tool: {
          driver: {
            name: "kubereel",
            semanticVersion: readVersion(),
            rules: rules.map(({ code, name, severity, summary, explanation }) => ({
              id: code,
              name,
              shortDescription: { text: summary },
              fullDescription: { text: explanation.join("\n\n") },
              defaultConfiguration: { level: severity },
            })),
          },
        },
        invocations: [
          {
            executionSuccessful: cut === undefined,
            ...(cut !== undefined && {
              toolExecutionNotifications: [{ level: "error", message: { text: cut } }],
            }),
          },
        ],
        artifacts: [{ location: { uri } }],
        results: report.rules.flatMap(({ findings }) =>
          findings.map((finding) => resultOf(finding, uri, ruleIndexes.get(finding.rule) ?? -1)),
        ),
      },
    ],
  }
}

const resultOf = (finding: Finding, uri: string, ruleIndex: number) => {
  const { rule, subject, count, firstTime, places } = finding
  const subjectName = subjectText(subject)
  return {
    ruleId: rule.code,
    ruleIndex,
    level: rule.severity,
    message: { text: `${findingText(finding)}. ${rule.summary}` },
    locations: [
      {
        physicalLocation: { artifactLocation: { uri, index: 0 } },
        logicalLocations: [
          { name: subject.name === "" ? subject.gvk : subject.name, fullyQualifiedName: subjectName, kind: "object" },
        ],
      },
    ],
    // So that a code host recognises the finding in another version of the file.
    partialFingerprints: { "finding/v1": [rule.code, subjectName, finding.kind, finding.name].join(" ") },
    occurrenceCount: count,
    properties: { firstTime, paths: places.map(placeText) },
  }
}
