/** What a gate of rehearsals found: lines for people, JSON for programs, and JUnit's XML for CI servers. */
import type { Failure, GateTrial } from "../../rehearsal/index.ts"
import { visible, visibleInJson } from "../../text/index.ts"
import { alignedRows } from "../terminal/display-width.ts"

/** A table of the trials, and below it each failure with the first step that differs. */
export const gateLines = (trials: ReadonlyArray<GateTrial>): ReadonlyArray<string> => {
  const failed = trials.filter(({ failures }) => failures.length > 0)
  const rows = failed.flatMap(({ name, failures }) =>
    failures.map(({ bug, kind, object, since }) => [
      name,
      bug,
      `${kind} ${object}`.trim(),
      `${since.time} ${since.text}`,
    ]),
  )
  const passed = trials.length - failed.length
  return [
    ...(rows.length === 0 ? [] : alignedRows([["REHEARSAL", "FAILURE", "OBJECT", "SINCE"], ...rows])),
    ...failed.flatMap(({ name, failures, shortest }) => [
      ...failures.map(({ message }) => visible(`${name}: ${message}`)),
      ...(shortest === undefined
        ? []
        : [`the shortest sequence that fails so:`, ...shortest.steps.map((step) => visible(`  ${step}`))]),
      ...(shortest === undefined ? [] : [`again with --seed '${shortest.again}'`]),
    ]),
    `${passed} of ${trials.length} rehearsals passed`,
  ]
}

const failureJson = ({ bug, kind, object, message, since, differences }: Failure) => ({
  ...{ failure: bug, kind, object, message, since, differences },
})

/** One document. Its version changes if a member is removed or changes its meaning. */
export const gateJson = (trials: ReadonlyArray<GateTrial>) => ({
  version: 1,
  passed: trials.every(({ failures }) => failures.length === 0),
  rehearsals: trials.map(({ name, failures, shortest }) => ({
    name,
    failures: failures.map(failureJson),
    ...(shortest !== undefined && { shortest }),
  })),
})

/** One test case for each rehearsal. `name`: of the suite. */
export const gateJunit = (name: string, trials: ReadonlyArray<GateTrial>): string => {
  const failed = trials.filter(({ failures }) => failures.length > 0).length
  const lines = trials.flatMap((trial) => [
    `  <testcase classname="${xml(name)}" name="${xml(trial.name)}" time="${(trial.tookMs / 1000).toFixed(3)}">`,
    ...trial.failures.map(
      ({ bug, message, since }) =>
        `    <failure type="${bug}" message="${xml(message)}">${xml(textOf(trial, message, since.text))}</failure>`,
    ),
    "  </testcase>",
  ])
  const counts = `tests="${trials.length}" failures="${failed}" errors="0" skipped="0"`
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites ${counts}>`,
    `<testsuite name="${xml(name)}" ${counts}>`,
    ...lines,
    "</testsuite>",
    "</testsuites>",
    "",
  ].join("\n")
}

const textOf = ({ shortest }: GateTrial, message: string, since: string): string =>
  [message, `since ${since}`, ...(shortest?.steps ?? []), ...(shortest ? [`--seed '${shortest.again}'`] : [])].join(
    "\n",
  )

const entities: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" }

const xml = (text: string): string =>
  visibleInJson(text).replaceAll(/[&<>"]/g, (character) => entities[character] ?? character)
