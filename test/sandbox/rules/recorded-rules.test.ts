import { readFileSync } from "node:fs"
import { describe, expect, test } from "vitest"
import { rulesCases } from "./cases.ts"
import { differences } from "./differences.ts"
import { localAnswer } from "./local-answer.ts"
import { type Json, type RecordedCase, recordingFile } from "./recorded-case.ts"
import type { RulesCase } from "./rules-case.ts"

const recordings = new Map<string, ReadonlyMap<string, RecordedCase>>()

const recordedCase = ({ path, name }: RulesCase): RecordedCase => {
  const file = recordingFile(path)
  const known = recordings.get(file)
  const cases =
    known ??
    new Map(
      (
        JSON.parse(
          readFileSync(new URL(`../../data/apiserver/defaults/${file}`, import.meta.url), "utf8"),
        ) as ReadonlyArray<RecordedCase>
      ).map((entry): [string, RecordedCase] => [entry.name, entry]),
    )
  recordings.set(file, cases)
  const found = cases.get(name)
  if (found === undefined) throw new Error(`no recording of "${name}": run record-defaults.ts`)
  return found
}

/** Fields and reasons, without the words. */
const causesOf = (answer: Json): unknown => {
  const { causes } = answer.details as { causes: ReadonlyArray<{ field: string; reason: string }> }
  return causes.map(({ field, reason }) => ({ field, reason }))
}

describe("the rules answer as Kubernetes 1.34.4 does", () => {
  const [equal, different] = [rulesCases, rulesCases].map((cases, index) =>
    cases.filter(({ name }) => differences.has(name) === (index === 1)),
  )

  test.each(equal ?? [])("$path: $name", (rulesCase) => {
    const recorded = recordedCase(rulesCase)
    const { status, answer } = recorded
    expect(localAnswer(rulesCase, recorded)).toEqual({ status, answer })
  })

  test.each(different ?? [])("$path: $name, but for a known difference", (rulesCase) => {
    const recorded = recordedCase(rulesCase)
    const { status, answer } = recorded
    const local = localAnswer(rulesCase, recorded)
    expect(local.status).toBe(status)
    expect(causesOf(local.answer)).toEqual(causesOf(answer))
    expect(local.answer, "the difference is gone; take it off the list").not.toEqual(answer)
  })
})
