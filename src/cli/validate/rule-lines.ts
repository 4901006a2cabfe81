/** The rules themselves, for people and for programs. */
import type { Rule } from "../../validation/rule.ts"
import { rules } from "../../validation/rules.ts"
import { alignedRows } from "../terminal/aligned-rows.ts"

/** A table of all rules. */
export const ruleTable = (): ReadonlyArray<string> =>
  alignedRows([
    ["CODE", "SEVERITY", "FIX", "RULE", "FINDS"],
    ...rules.map(({ code, severity, fix, name, summary }) => [code, severity, fix ? "yes" : "no", name, summary]),
  ])

/** Everything about one rule. */
export const explanationLines = ({ code, name, severity, summary, explanation, fix }: Rule): ReadonlyArray<string> => [
  `${code} ${name} (${severity})`,
  "",
  summary,
  ...explanation.flatMap((paragraph) => ["", paragraph]),
  "",
  fix === undefined ? "--fix changes nothing: only people can decide." : `--fix removes ${fix.removes}.`,
]

/** A rule as JSON. */
export const ruleJson = ({ code, name, severity, summary, explanation, fix }: Rule) => ({
  code,
  name,
  severity,
  summary,
  explanation,
  fix: fix === undefined ? null : `removes ${fix.removes}`,
})
