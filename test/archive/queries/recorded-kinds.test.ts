import { expect, test } from "vitest"
import { keptSettings } from "../../../src/archive/queries/recorded-kinds.ts"
import { statusAlways, statusNever } from "../../../src/kube/offline.ts"

const gvk = { group: "apps", version: "v1", kind: "Deployment" }
const settingsIn = (recorder: string) => {
  const { detectOf, statusOf } = keptSettings(new Map([["recorder", recorder]]))
  return { detect: detectOf("apps/v1.Deployment"), status: statusOf("apps/v1.Deployment") }
}

test("the last recorder's settings say how a kind was recorded", () => {
  const kinds = [{ gvk, detect: "spec", ignore: [], gvkText: "apps/v1.Deployment" }]
  expect(settingsIn(JSON.stringify({ kinds, statuses: [] }))).toEqual({ detect: "spec", status: statusNever })
})

test.each(["", "null", "[]", '{"kinds":5}', '{"kinds":[null]}', '{"statusRecorded":{"apps/v1.Deployment":5}}'])(
  "a text of another version says nothing: %s",
  (text) => {
    expect(settingsIn(text)).toEqual({ detect: "", status: statusAlways })
  },
)
