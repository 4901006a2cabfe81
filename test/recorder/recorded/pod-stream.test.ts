/** Which watcher follows pod lifecycles. */
import { expect, test } from "vitest"
import { type WatchedKinds, watchedKinds } from "../../../src/recorder/watchers/pod-stream.ts"
import { tracked } from "./recorded-sandbox.ts"

const deployments = { ...tracked("apps/v1.Deployment"), trackLifecycle: true }
const pods = tracked("v1.Pod")
/** `kind` of each, the one that follows pods in capitals, with the namespaces of a stream of its own. */
const brief = ({ kinds, podStream }: WatchedKinds): ReadonlyArray<string> =>
  kinds.map(
    ({ gvkText, namespaces }) => `${gvkText}${gvkText === podStream ? ` follows ${namespaces?.join() ?? "all"}` : ""}`,
  )

test("no watcher if no kind tracks lifecycles", () => {
  expect(brief(watchedKinds([tracked("apps/v1.Deployment"), pods]))).toEqual(["apps/v1.Deployment", "v1.Pod"])
})

test("the watcher of v1.Pod, even if it is the only kind that tracks them", () => {
  expect(brief(watchedKinds([deployments, pods]))).toEqual(["apps/v1.Deployment", "v1.Pod follows all"])
  expect(brief(watchedKinds([{ ...pods, trackLifecycle: true }]))).toEqual(["v1.Pod follows all"])
})

test("a separate watcher if Pods are not recorded, in the namespaces of the kinds that track them", () => {
  const jobs = { ...tracked("batch/v1.Job"), trackLifecycle: true }
  expect(brief(watchedKinds([deployments]))).toEqual(["apps/v1.Deployment", "lifecycle/v1.Pod follows all"])
  const confined = [
    { ...deployments, namespaces: ["b", "a"] },
    { ...jobs, namespaces: ["b", "c"] },
    { ...tracked("v1.ConfigMap"), namespaces: ["x"] },
  ]
  expect(brief(watchedKinds(confined)).at(-1)).toBe("lifecycle/v1.Pod follows a,b,c")
  expect(brief(watchedKinds([...confined, { ...pods, namespaces: ["a", "b", "c", "d"] }])).at(-1)).toBe(
    "v1.Pod follows a,b,c,d",
  )
})

test.each([
  ["a label selector", { labelSelector: "app=x" }],
  ["a field selector", { fieldSelector: "spec.nodeName=n" }],
  ["namespaces of its own", { namespaces: ["a"] }],
])("one of its own if v1.Pod does not see all pods because of %s", (_, narrower) => {
  const { kinds, podStream } = watchedKinds([deployments, { ...pods, ...narrower }])
  expect([kinds.length, podStream]).toEqual([3, "lifecycle/v1.Pod"])
})
