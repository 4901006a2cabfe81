/** Objects that get and lose owners in the window of an export: at every moment it has the objects that nothing in it owns. */
import fc from "fast-check"
import { expect, test } from "vitest"
import { type JsonObject, openDecoder } from "../../../src/trace/index.ts"
import { exportOf, recordingOf, referenceTo } from "./owned-recording.ts"

const minute = 60_000_000
const deployment = "apps/v1.Deployment"
const replicaSet = "apps/v1.ReplicaSet"
const pod = "v1.Pod"
const kindOf: Readonly<Record<string, string>> = {
  web: deployment,
  api: deployment,
  "web-1": replicaSet,
  "web-2": replicaSet,
  "web-1-a": pod,
  "web-1-b": pod,
}
const names = Object.keys(kindOf)
/** Pods own nothing. */
const owning = names.filter((name) => kindOf[name] !== pod)

/** What happens to an object: it is there with these owners from then on, or is deleted. Step i happens at minute 1 + i µs. */
type Step = readonly [name: string, owners: ReadonlyArray<string> | "deleted"]

const referenceOf = (owner: string): JsonObject => referenceTo((kindOf[owner] as string).split(".").at(-1) ?? "", owner)

const recorded = (steps: ReadonlyArray<Step>): string =>
  recordingOf(
    steps.map(([name, owners], index) => ({
      gvk: kindOf[name] as string,
      name,
      isDeleted: owners === "deleted",
      owners: owners === "deleted" ? lastOwners(steps.slice(0, index), name) : owners.map(referenceOf),
      rest: { spec: { index } },
    })),
  )

const lastOwners = (before: ReadonlyArray<Step>, name: string): ReadonlyArray<JsonObject> => {
  const owners = before.findLast(([each, how]) => each === name && how !== "deleted")?.[1] ?? []
  return owners === "deleted" ? [] : owners.map(referenceOf)
}

interface Window {
  readonly kinds: ReadonlyArray<string>
  /** The number of steps before it. */
  readonly from: number
}

/** The names of the live objects of an export, in the beginning and after every step of its window. */
const shownIn = async (steps: ReadonlyArray<Step>, { kinds, from }: Window) => {
  const decoder = await openDecoder("ndjson")
  const job = { format: "ndjson", excludeOwned: true, recordedKinds: [deployment, replicaSet, pod] } as const
  const trace = await exportOf(recorded(steps), kinds, { ...job, fromTime: minute + from })
  const items = [...decoder.push(trace), ...decoder.end()]
  const live = new Set<string>()
  const states: string[][] = []
  const next = (): void => void states.push([...live].sort())
  for (const item of items) {
    if (item.type !== "event" || item.event.type !== "object") continue
    const { action, name, time } = item.event
    while (!item.isSnapshot && states.length <= time - minute - from) next()
    const [isNew, isGone] = [action === "applied", action !== "applied"]
    if (isNew) live.add(name)
    // Nothing ends that was not there.
    if (isGone) expect(live.delete(name)).toBe(true)
  }
  while (states.length <= steps.length - from) next()
  return states
}

/** The same from the steps alone. */
const truth = (steps: ReadonlyArray<Step>, { kinds, from }: Window): ReadonlyArray<ReadonlyArray<string>> => {
  const liveAfter = (count: number): ReadonlySet<string> => {
    const live = new Set<string>()
    for (const [name, owners] of steps.slice(0, count)) owners === "deleted" ? live.delete(name) : live.add(name)
    return live
  }
  const members = new Set([...liveAfter(from), ...steps.slice(from).map(([name]) => name)])
  const isMember = (name: string): boolean => members.has(name) && kinds.includes(kindOf[name] as string)
  const states = []
  for (let count = from; count <= steps.length; count++) {
    /** The owners that were known last; before any are, the first ones. */
    const above = (name: string): ReadonlyArray<string> => {
      const all = steps.filter(([each, owners]) => each === name && owners !== "deleted")
      const known = steps.slice(0, count).findLast((step) => all.includes(step)) ?? all[0]
      return known === undefined || known[1] === "deleted" ? [] : known[1]
    }
    const reach = (name: string, seen = new Set<string>()): ReadonlySet<string> => {
      for (const owner of above(name)) if (!seen.has(owner)) reach(owner, seen.add(owner))
      return seen
    }
    const isOwned = (name: string): boolean =>
      [...reach(name)].some((owner) => isMember(owner) && owner !== name && !reach(owner).has(name))
    states.push([...liveAfter(count)].filter((name) => kinds.includes(kindOf[name] as string) && !isOwned(name)).sort())
  }
  return states
}

const windowOf = (steps: ReadonlyArray<Step>, more: Partial<Window> = {}): Window => ({
  kinds: [deployment, replicaSet, pod],
  from: steps.length,
  ...more,
})

test("an object appears when it is orphaned, ends when it is adopted again, and its deletion is then no event of the trace", async () => {
  const steps: ReadonlyArray<Step> = [
    ["web", []],
    ["web-1", ["web"]],
    ["web-1", []],
    ["web", "deleted"],
    ["api", []],
    ["web-1", ["api"]],
    ["web-1", "deleted"],
  ]
  expect(await shownIn(steps, windowOf(steps, { from: 2 }))).toEqual([
    ["web"],
    ["web", "web-1"],
    ["web-1"],
    ["api", "web-1"],
    ["api"],
    ["api"],
  ])
})

test("an object appears and ends with the owners of an owner that the trace lacks", async () => {
  const steps: ReadonlyArray<Step> = [
    ["web", []],
    ["web-1", ["web"]],
    ["web-1-a", ["web-1"]],
    ["web-1", []],
    ["web-1", ["web"]],
  ]
  expect(await shownIn(steps, windowOf(steps, { kinds: [deployment, pod], from: 3 }))).toEqual([
    ["web"],
    ["web", "web-1-a"],
    ["web"],
  ])
})

test("at every moment of a window the trace has the objects that exist and that nothing in it owns", async () => {
  const step = fc.tuple(
    fc.constantFrom(...names),
    fc.option(fc.uniqueArray(fc.constantFrom(...owning), { maxLength: 2 }), { nil: "deleted" as const, freq: 5 }),
  )
  const history = fc.array(step, { minLength: 1, maxLength: 14 }).map((all) => {
    /** A UID lives once. */
    const ended = new Map<string, boolean>()
    return all.filter(([name, owners]) => {
      const isOver = ended.get(name)
      if (isOver === true || (isOver === undefined && owners === "deleted")) return false
      ended.set(name, owners === "deleted")
      return true
    })
  })
  await fc.assert(
    fc.asyncProperty(
      history,
      fc.nat(14),
      fc.subarray([deployment, replicaSet, pod], { minLength: 1 }),
      async (steps, from, kinds) => {
        const window = { kinds, from: Math.min(from, steps.length) }
        expect(await shownIn(steps, window)).toEqual(truth(steps, window))
      },
    ),
    { numRuns: 40 },
  )
}, 60_000)
