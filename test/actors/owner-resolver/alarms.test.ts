/** Which failed look-ups are logged. */
import { expect, test } from "vitest"
import { FailureAlarms } from "../../../src/actors/owner-resolver/owner-resolver-body.ts"

const question = (name: string, gvk = "apps/v1.ReplicaSet") => ({ uid: name, gvk, namespace: "shop", name })
const failure = (code: number) => ({
  tag: "failed" as const,
  reach: "kind" as const,
  detail: `status ${code}`,
  code,
  retryAfterMs: undefined,
})

test("each kind and status is logged once, until that kind succeeds again", () => {
  const alarms = new FailureAlarms()
  expect(alarms.failed(question("web-1"), failure(500))).toBe(
    "owner apps/v1.ReplicaSet shop/web-1 cannot be looked up: status 500",
  )
  expect(alarms.failed(question("web-2"), failure(500))).toBeUndefined()
  expect(alarms.failed(question("nightly", "batch/v1.Job"), failure(500))).toMatch(/^owner batch\/v1\.Job/)
  expect(alarms.failed(question("web-2"), failure(503))).toMatch(/status 503$/)
  alarms.answered(question("web-3"))
  expect(alarms.failed(question("web-2"), failure(503))).toMatch(/status 503$/)
})

test("a forbidden kind is logged with the rule that would permit it", () => {
  expect(new FailureAlarms().failed(question("web-1"), failure(403))).toMatch(
    /add \{apiGroups: \["apps"\], resources: \[the resource of ReplicaSet in \/apis\/apps\/v1\], verbs: \["get"\]\}/,
  )
})
