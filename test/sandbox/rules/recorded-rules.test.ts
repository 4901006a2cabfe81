import { readFileSync } from "node:fs"
import { describe, expect, test } from "vitest"
import { withoutWording } from "../without-wording.ts"
import { rulesCases } from "./cases.ts"
import { localAnswer } from "./local-answer.ts"
import { type RecordedCase, recordingFile } from "./recorded-case.ts"
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

describe("the rules decide as Kubernetes 1.34.4 does", () => {
  test.each(rulesCases)("$path: $name", (rulesCase) => {
    const recorded = recordedCase(rulesCase)
    const { status, answer } = recorded
    expect(withoutWording(localAnswer(rulesCase, recorded))).toEqual(withoutWording({ status, answer }))
  })
})
