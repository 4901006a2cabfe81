import { readFileSync } from "node:fs"
import { describe, expect, test } from "vitest"
import { withoutWording } from "../without-wording.ts"
import { rulesCases } from "./cases.ts"
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

/** Of requests that the server refuses for several reasons: fields of the reasons that the sandbox does not check, or adds. */
const notCompared: Readonly<Record<string, ReadonlyArray<string>>> = {
  "bad probes": ["spec.containers[0].startupProbe.tcpSocket.port"],
  "bad tolerations": ["spec.tolerations[0].operator"],
  "deployment of bad percentages": ["spec.strategy.rollingUpdate.maxUnavailable"],
  "stateful set of bad choices": ["spec.podManagementPolicy", "spec.updateStrategy"],
  "persistent volume without anything": ["spec", "spec.capacity"],
  "bad endpoints": ["subsets[1]"],
  "bad role": ["rules[2].nonResourceURLs"],
  "bad priority class": ["value"],
}

const compared = (answer: Json, ignored: ReadonlyArray<string>): Json => {
  const { causes, ...details } = (answer.details ?? {}) as {
    readonly causes?: ReadonlyArray<{ readonly field: string }>
  }
  if (causes === undefined) return answer
  return { ...answer, details: { ...details, causes: causes.filter(({ field }) => !ignored.includes(field)) } }
}

describe("the rules decide as Kubernetes 1.34.4 does", () => {
  test.each(rulesCases)("$path: $name", (rulesCase) => {
    const recorded = recordedCase(rulesCase)
    const local = localAnswer(rulesCase, recorded)
    const ignored = notCompared[rulesCase.name] ?? []
    expect(withoutWording({ ...local, answer: compared(local.answer, ignored) })).toEqual(
      withoutWording({ status: recorded.status, answer: compared(recorded.answer, ignored) }),
    )
  })
})
