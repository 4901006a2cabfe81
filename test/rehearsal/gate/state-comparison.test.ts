/** Which states of objects count as the same, and since when they are not. */
import { describe, expect, test } from "vitest"
import { StateComparison } from "../../../src/rehearsal/gate/state-comparison.ts"
import { patient } from "../../harness/patience.ts"
import { type Body, podOf } from "../history.ts"

const stateOf = (object: Body) => ({
  kind: `${object.apiVersion}.${object.kind}`,
  namespace: object.metadata.namespace ?? "",
  name: object.metadata.name,
  bytes: Buffer.from(JSON.stringify(object)),
})
const step = (second: number) => ({ time: `2026-01-01T00:00:0${second}.000000Z`, cause: { type: "timer" } as const })

const compared = (expected: Body, reached: Body, isWhole = true): ReadonlyArray<string> => {
  const states = new StateComparison()
  states.expect({ ...stateOf(expected), isWhole })
  states.reach(stateOf(reached))
  states.stepEnded(step(1), 1)
  return states.differing.flatMap(({ differences }) => differences.map(({ path }) => path))
}

describe("States are the same", () => {
  test("whatever the server decides: UIDs, versions, generations, and times", () => {
    const one = podOf("web", "nginx", { uid: "1", generation: 1, creationTimestamp: "2026-01-01T00:00:00Z" })
    const other = podOf("web", "nginx", { uid: "2", generation: 2, creationTimestamp: "2026-02-01T00:00:00Z" })
    expect(compared(one, other)).toEqual([])
    expect(compared(one, podOf("web", "nginx:2"))).toEqual(["/spec/containers/0/image"])
  })

  test("if others have added something to what a controller made, but not if it lacks its owner", () => {
    const recorded = podOf("web", "nginx", { labels: { added: "yes" } }, { phase: "Running" })
    expect(compared(recorded, podOf("web", "nginx"), false)).toEqual([])
    expect(compared(recorded, podOf("web", "nginx"))).toEqual(["/metadata/labels", "/status"])
    const orphan = podOf("web", "nginx", { ownerReferences: undefined })
    expect(compared(recorded, orphan, false)).toEqual(["/metadata/ownerReferences"])
  })

  test("whatever name the server generated, if there are as many", () => {
    const generated = (name: string) => podOf("web", "nginx", { name, generateName: "web-" })
    expect(compared(generated("web-x1"), generated("web-b2"))).toEqual([])
    const states = new StateComparison()
    states.expect({ ...stateOf(generated("web-x1")), isWhole: true })
    for (const name of ["web-b2", "web-c3"]) states.reach(stateOf(generated(name)))
    states.stepEnded(step(1), 1)
    expect(states.differing).toMatchObject([{ name: "web-*", kind: "v1.Pod" }])
  })

  test("of one generated name, equal ones first, so that the difference is that of the one that is left", () => {
    const generated = (name: string, image: string, metadata = {}) =>
      podOf("web", image, { name, generateName: "web-", ...metadata })
    const states = new StateComparison()
    const recorded = [generated("web-1", "nginx:2"), generated("web-2", "nginx:1", { labels: { tier: "front" } })]
    for (const object of recorded) states.expect({ ...stateOf(object), isWhole: true })
    for (const object of [generated("web-3", "nginx:3"), generated("web-4", "nginx:2")]) states.reach(stateOf(object))
    states.stepEnded(step(1), 1)
    expect(states.differing[0]?.differences.map(({ path }) => path)).toEqual([
      "/metadata/labels",
      "/spec/containers/0/image",
    ])
  })

  test(
    "in groups of 2,000 objects, step by step",
    () => {
      const generated = (index: number, image: string, uid: string) =>
        podOf("web", image, { name: `web-${uid}${index}`, generateName: "web-", uid: `${uid}-${index}` })
      const states = new StateComparison()
      for (let index = 0; index < 2000; index++) {
        states.expect({ ...stateOf(generated(index, "nginx:1", "a")), isWhole: true })
        states.reach(stateOf(generated(index, "nginx:1", "b")))
      }
      for (let second = 0; second < 5; second++) {
        states.reach(stateOf(generated(second, "nginx:2", "b")))
        states.stepEnded(step(second), second)
      }
      expect(states.differing).toMatchObject([{ differences: [{ path: "/spec/containers/0/image" }] }])
    },
    patient(10_000),
  )
})

test("The step that is named is the first of those since which they have differed without a break", () => {
  const states = new StateComparison()
  const reach = (second: number, image: string): void => {
    states.reach(stateOf(podOf("web", image)))
    states.stepEnded(step(second), second)
  }
  states.expect({ ...stateOf(podOf("web", "nginx")), isWhole: true })
  reach(1, "other")
  reach(2, "nginx")
  reach(3, "other")
  reach(4, "another")
  expect(states.differing).toMatchObject([{ since: { text: "a timer after change 3" } }])
  states.reach({ ...stateOf(podOf("web", "nginx")), bytes: undefined })
  states.expect({ ...stateOf(podOf("web", "nginx")), bytes: undefined, isWhole: true })
  states.stepEnded(step(5), 5)
  expect(states.differing).toEqual([])
})
