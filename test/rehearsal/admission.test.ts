/** Controllers that validate and mutate, in a rehearsal: they are asked about what controllers write, and not about what is recorded. */
import { expect, test } from "vitest"
import { simplePods } from "../../examples/host/typescript/simplepod-controller.ts"
import { type ApiObject, defineController, type Pod } from "../../src/host/controllers.ts"
import { replayInto } from "../../src/library/rehearsal.ts"
import { answerOwn } from "../../src/rehearsal/stage/own-webhooks.ts"
import { podOf, simplePod, simplePodDefinition, traceOf } from "./history.ts"

const day = traceOf([
  { at: 0, isSnapshot: true, object: simplePodDefinition },
  { at: 0.5, object: { ...podOf("other", "nginx:1"), metadata: { name: "other", namespace: "shop" } } },
  { at: 1, object: simplePod("good", "nginx:1") },
  { at: 2, object: simplePod("bad", "nginx:latest") },
])

const policy = defineController<Pod>({
  name: "policy",
  for: "v1.Pod",
  mutate: ({ object }) => ({
    ...object,
    metadata: { ...object.metadata, labels: { ...object.metadata.labels, seen: "yes" } },
  }),
  validate: ({ object }) =>
    object.spec.containers.some(({ image }) => image?.endsWith(":latest")) ? "name a version" : undefined,
})

test("What controllers write is admitted by them, with its differences in the journal, the same each time", async () => {
  const rehearsed = async () => replayInto([simplePods, policy], day)
  const result = await rehearsed()
  const writes = result.writesOf({ kind: "v1.Pod", controller: simplePods.name })
  // Refused ones are retried.
  expect(writes.slice(0, 2).map(({ name, status, message }) => [name, status, message])).toEqual([
    ["good", 201, undefined],
    ["bad", 403, 'admission webhook "validate.policy.kubereel.dev" denied the request: name a version'],
  ])
  expect(writes[0]?.differences).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ after: expect.objectContaining({ labels: expect.anything() }) }),
    ]),
  )
  expect(result.object<ApiObject>("v1.Pod", "shop/good")?.metadata.labels).toMatchObject({ seen: "yes" })
  // Recorded, so it passes as it was.
  expect(result.object<ApiObject>("v1.Pod", "shop/other")?.metadata.labels).toBeUndefined()
  expect(result.object("v1.Pod", "shop/bad")).toBeUndefined()
  expect(result.trouble[0]).toMatch(/shop\/bad: .*denied the request: name a version/)
  expect(String(await rehearsed())).toBe(String(result))
})

test("While controllers are down, a review fails, so that the failure policy decides", async () => {
  const review = { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", request: { uid: "1" } }
  const answer = answerOwn(() => [])(new URL("https://rehearsal/policy/validate"), JSON.stringify(review))
  expect(await answer).toEqual({ status: 500, text: "there is no controller policy\n" })
})
