/** Rights of readers are asked for once in a while, a bounded number of them at once. */
import { expect, test } from "vitest"
import type { ReadAction } from "../../../src/recorder/access/access.ts"
import {
  cachedRights,
  deniedMs,
  deniedSearchMs,
  grantedMs,
  maximumReviews,
} from "../../../src/recorder/access/kubernetes-access.ts"

const ann = { username: "ann", groups: ["shop"] }
const listPods: ReadAction = { verb: "list", group: "", resource: "pods", namespace: "shop" }

const scripted = (answer: () => boolean | Error) => {
  let [nowMs, reviews] = [0, 0]
  const mayRead = cachedRights({
    clock: { monotonicMs: () => nowMs },
    authorise: async () => {
      reviews++
      const given = answer()
      if (given instanceof Error) throw given
      return { isAllowed: given, remark: "" }
    },
  })
  return { mayRead, pass: (ms: number) => (nowMs += ms), reviews: () => reviews }
}

test("a right is kept for ten seconds, the lack of one for five", async () => {
  let isGranted = true
  const { mayRead, pass, reviews } = scripted(() => isGranted)
  expect(await mayRead(ann, listPods)).toBe(true)
  isGranted = false
  pass(grantedMs - 1)
  expect(await mayRead(ann, listPods)).toBe(true)
  pass(1)
  expect(await mayRead(ann, listPods)).toBe(false)
  isGranted = true
  pass(deniedMs - 1)
  expect(await mayRead(ann, listPods)).toBe(false)
  pass(1)
  expect(await mayRead(ann, listPods)).toBe(true)
  expect(reviews()).toBe(3)
})

test("what a search through namespaces finds denied is kept for a minute, and does not answer for a question about that namespace", async () => {
  const { mayRead, pass, reviews } = scripted(() => false)
  const search = { ...listPods, isSearch: true } as const
  await mayRead(ann, search)
  pass(deniedSearchMs - 1)
  await mayRead(ann, search)
  expect(reviews()).toBe(1)
  await mayRead(ann, listPods)
  expect(reviews()).toBe(2)
  pass(1)
  await mayRead(ann, search)
  expect(reviews()).toBe(3)
})

test("whoever differs in a group, and whatever differs in a place, is asked about anew", async () => {
  const { mayRead, reviews } = scripted(() => true)
  const others: ReadonlyArray<Partial<ReadAction>> = [
    { verb: "get", name: "a" },
    { verb: "get", name: "b" },
    { group: "apps" },
    { resource: "secrets" },
    { namespace: "bank" },
    { namespace: "" },
  ]
  for (const identity of [ann, { ...ann, groups: ["bank"] }, { username: "bob" }])
    for (const other of [{}, ...others]) await mayRead(identity, { ...listPods, ...other })
  expect(reviews()).toBe(3 * (1 + others.length))
})

test("a failure is not kept", async () => {
  let answer: boolean | Error = new Error("no API server")
  const { mayRead } = scripted(() => answer)
  await expect(mayRead(ann, listPods)).rejects.toThrow("no API server")
  answer = true
  expect(await mayRead(ann, listPods)).toBe(true)
})

test("a question that is asked at once is reviewed once, and few questions are reviewed at once", async () => {
  const open: Array<() => void> = []
  const mayRead = cachedRights({
    clock: { monotonicMs: () => 0 },
    authorise: () => new Promise((resolve) => open.push(() => resolve({ isAllowed: true, remark: "" }))),
  })
  const namespaces = Array.from(
    { length: 3 * maximumReviews },
    (_, index) => `namespace-${index % (2 * maximumReviews)}`,
  )
  const all = Promise.all(namespaces.map((namespace) => mayRead(ann, { ...listPods, namespace })))
  let most = 0
  let reviews = 0
  let isOver = false
  void all.then(() => (isOver = true))
  while (!isOver) {
    most = Math.max(most, open.length)
    const [next] = open.splice(0, 1)
    if (next !== undefined) reviews++
    next?.()
    await new Promise((resolve) => setImmediate(resolve))
  }
  expect({ most, reviews }).toEqual({ most: maximumReviews, reviews: 2 * maximumReviews })
})
