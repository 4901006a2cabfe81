/** What a gate of rehearsals found: lines for people, JSON for programs, and JUnit's XML for CI servers. */
import { type Failure, type GateTrial, linesOf } from "../../rehearsal/index.ts"
import { visible, visibleInJson } from "../../text/index.ts"
import { alignedRows } from "../terminal/display-width.ts"

/** A table of the failures with the first step that differs, and below it what each is and the shortest sequence that has it. */
export const gateLines = (trials: ReadonlyArray<GateTrial>): ReadonlyArray<string> => {
  const rows = trials.flatMap(({ name, failures }) =>
    failures.map(({ bug, kind, object, since }) => [
      ...[name, bug, `${kind} ${object}`.trim(), `${since.time} ${since.text}`],
    ]),
  )
  const passed = trials.filter(({ failures }) => failures.length === 0).length
  return [
    ...(rows.length === 0 ? [] : alignedRows([["REHEARSAL", "FAILURE", "OBJECT", "SINCE"], ...rows])),
    ...trials.flatMap(linesOf).map(visible),
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

/** One test case for each rehearsal. `suite`: its name. */
export const gateJunit = (suite: string, trials: ReadonlyArray<GateTrial>): string => {
  const failed = trials.filter(({ failures }) => failures.length > 0).length
  const counts = `tests="${trials.length}" failures="${failed}" errors="0" skipped="0"`
  const cases = trials.map((trial) => {
    const [first] = trial.failures
    const failure =
      first &&
      `<failure type="${first.bug}" message="${xml(first.message)}">${xml(linesOf(trial).join("\n"))}</failure>`
    const seconds = (trial.tookMs / 1000).toFixed(3)
    return `<testcase classname="${xml(suite)}" name="${xml(trial.name)}" time="${seconds}">${failure ?? ""}</testcase>`
  })
  const body = `<testsuite name="${xml(suite)}" ${counts}>\n${cases.join("\n")}\n</testsuite>`
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites ${counts}>\n${body}\n</testsuites>\n`
}

const entities: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" }

const xml = (text: string): string =>
  visibleInJson(text).replaceAll(/[&<>"]/g, (character) => entities[character] ?? character)
