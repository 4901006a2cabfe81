import { expect, test } from "vitest"
import { AnswerCompleteness } from "../../../src/cli/mcp/answer-page.ts"

test("all times of what an answer lacks are in RFC 3339", () => {
  const completeness = new AnswerCompleteness()
  const time = Date.UTC(2026, 2, 2, 3) * 1000
  const late = { notBefore: time, notAfter: time, receivedFrom: time, receivedTo: time }
  completeness.note({ late: [{ gvk: "v1.Pod", events: 1, ...late }] })
  const said = "2026-03-02T03:00:00Z"
  expect(completeness.facts().late).toEqual([
    { gvk: "v1.Pod", events: 1, notBefore: said, notAfter: said, receivedFrom: said, receivedTo: said },
  ])
})

test("a kind that another shard records is not missing, and one that none records is", () => {
  const completeness = new AnswerCompleteness(2)
  const entry = (gvk: string) => ({ gvk, namespace: "", why: "never", time: 0 })
  completeness.note({ unrecorded: [entry("v1.Pod"), entry("v1.Node")] })
  expect(completeness.facts()).toEqual({ isComplete: true })
  completeness.note({ unrecorded: [entry("v1.Node")] })
  expect(completeness.facts()).toMatchObject({ isComplete: false, unrecorded: [{ gvk: "v1.Node" }] })
})
