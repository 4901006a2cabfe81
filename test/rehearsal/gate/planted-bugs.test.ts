/** Bugs that controllers have, planted one by one: rehearsals find each of them, and the message says which it is. */
import { describe, expect, test } from "vitest"
import { simplePods } from "../../../examples/host/typescript/simplepod-controller.ts"
import {
  AlreadyExistsError,
  type ApiObject,
  type DefinedController,
  defineController,
  setControllerReference,
} from "../../../src/host/controllers.ts"
import { type ExpectRehearsalOptions, expectRehearsal } from "../../../src/library/rehearsal.ts"
import { patient } from "../../harness/patience.ts"
import { type Body, podOf, type Recorded, simplePod, simplePodDefinition, traceOf } from "../history.ts"

const definition = { at: 0, isSnapshot: true, object: simplePodDefinition }

const podFor = ({ metadata }: ApiObject, name: object) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { ...name, namespace: metadata.namespace ?? "" },
  spec: { containers: [{ name: "main", image: "nginx" }] },
})

/** Others work in the cluster meanwhile. */
const elsewhere = (at: number): Recorded => ({
  at,
  object: simplePod(`other-${at}`, "nginx", { labels: { ignored: "yes" } }),
})

/** Recorded pods have no defaults here. */
const ignore = [
  { path: "/spec" },
  { kind: "v1.Pod", path: "/metadata/labels" },
  { path: "/metadata/ownerReferences/0/blockOwnerDeletion" },
  { path: "/status" },
]

/** What the message of the failed rehearsals is. */
const failureOf = async (
  make: () => DefinedController,
  history: ReadonlyArray<Recorded>,
  options: ExpectRehearsalOptions,
): Promise<string> => {
  const failed = await expectRehearsal(make, traceOf(history), options).catch((error: unknown) => error)
  expect(failed).toMatchObject({ _tag: "RehearsalFailed" })
  return (failed as Error).message
}

/** The steps of the shortest sequence. */
const stepsIn = (message: string): ReadonlyArray<string> => message.split("\n").filter((line) => line.startsWith("  "))

const isIgnored = (object: ApiObject | undefined): boolean =>
  object === undefined || object.metadata.labels?.ignored === "yes"

describe("A rehearsal finds a controller that", () => {
  /** With a memory of its own. */
  const remembering = (): DefinedController => {
    const made = new Set<string>()
    return defineController({
      name: "remembering",
      for: "slinky.dev/v1.SimplePod",
      owns: ["v1.Pod"],
      reconcile: async ({ key, object, cluster }) => {
        if (object === undefined || isIgnored(object) || made.has(key)) return
        made.add(key)
        await cluster.create(setControllerReference(object, podFor(object, { generateName: "web-" })))
      },
    })
  }
  const generated = podOf("web", "nginx", { name: "web-x7k2p", generateName: "web-" })
  const history = [
    definition,
    elsewhere(0.5),
    { at: 1, object: simplePod("web", "nginx") },
    { at: 1.2, object: generated },
    ...[2, 3, 4, 5, 6, 7, 8, 9, 10].map(elsewhere),
  ]

  test("creates again after a restart", async () => {
    const message = await failureOf(remembering, history, { restartAt: "every-write", expect: { ignore } })
    expect(message).toMatch(
      /^restart 1: remembering creates v1\.Pod again: shop\/web-\w+ besides shop\/web-\w+; the undisturbed rehearsal has 1\. /,
    )
    expect(stepsIn(message)).toEqual([
      "  change 2, slinky.dev/v1.SimplePod shop/web applied",
      "  restart create v1.Pod shop/web-* #1 for 1",
    ])
  })

  test("does not own its child", async () => {
    const orphaning = () =>
      defineController({
        name: "orphaning",
        for: "slinky.dev/v1.SimplePod",
        owns: ["v1.Pod"],
        reconcile: async ({ object, cluster }) => {
          if (object === undefined) return
          await cluster.create(podFor(object, { name: object.metadata.name })).catch((error: unknown) => {
            if (!(error instanceof AlreadyExistsError)) throw error
          })
        },
      })
    const living = [
      definition,
      { at: 1, object: simplePod("web", "nginx") },
      { at: 1.2, object: podOf("web", "nginx") },
    ]
    expect(await failureOf(orphaning, living, {})).toMatch(
      /^undisturbed: orphaning does not own its child v1\.Pod shop\/web: .* \(since change 1, slinky\.dev\/v1\.SimplePod shop\/web applied\)$/m,
    )
    const ended = [
      ...living,
      { at: 3, deleted: true, object: simplePod("web", "nginx") },
      { at: 3.1, deleted: true, object: podOf("web", "nginx") },
    ]
    expect(await failureOf(orphaning, ended, {})).toMatch(
      /^undisturbed: orphaning does not own its child v1\.Pod shop\/web: .*: so it is left behind/,
    )
  })

  const configMap = (name: string, value: string): Body => ({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name, namespace: "shop" },
    data: { value },
  })
  const overwriting = () =>
    defineController<ApiObject & { data: { value: string } }>({
      name: "overwriting",
      for: "v1.ConfigMap",
      reconcile: async ({ object, cluster }) => {
        if (object === undefined || object.metadata.labels?.seen === "yes") return
        const { resourceVersion: _, ...metadata } = object.metadata
        await cluster.update({ ...object, metadata: { ...metadata, labels: { seen: "yes" } } })
      },
    })
  const changes = [1, 2, 3, 4, 5, 6, 7, 8].flatMap((at) => [
    { at, object: configMap(`map-${at}`, "one") },
    { at: at + 0.5, object: configMap(`map-${at}`, "two") },
  ])

  test(
    "loses an update, if the update comes between its read and its write: with few seeds, and in few steps",
    async () => {
      const message = await failureOf(overwriting, changes, { expect: { recorded: "ignore" }, seeds: 20 })
      expect(message).toMatch(
        /^seed \d+: overwriting loses an update of v1\.ConfigMap shop\/map-\d: change \d+, v1\.ConfigMap shop\/map-\d applied had set \/data\/value to "two", and a write that knew only the state before has made it "one"/m,
      )
      expect(stepsIn(message).length).toBeLessThanOrEqual(10)
      const race = "race update v1.ConfigMap shop/map-5 #1"
      const seeds = [`7: late 2; ${race}; late 12`]
      const shrunk = await failureOf(overwriting, changes, { expect: { recorded: "ignore" }, seeds })
      expect(stepsIn(shrunk)).toEqual([
        "  change 9, v1.ConfigMap shop/map-5 applied",
        `  ${race}`,
        "  change 10, v1.ConfigMap shop/map-5 applied",
      ])
      const [, again = ""] = /^again with the seed "(.*)"$/m.exec(shrunk) ?? []
      expect(again).toBe(`7: ${race}; changes 9,10`)
      const repeated = await failureOf(overwriting, changes, { expect: { recorded: "ignore" }, seeds: [again] })
      expect(stepsIn(repeated)).toEqual(stepsIn(shrunk))
    },
    patient(60_000),
  )

  test(
    "loses an update, also if a part of the trace has nothing of its kind, or stops it undisturbed",
    async () => {
      const waiting = (): DefinedController => {
        const { reconcile, ...rest } = overwriting()
        return {
          ...rest,
          reconcile: (given) => {
            const settings = { namespace: "shop", name: "map-1" }
            if (given.cluster.cached("v1.ConfigMap").get(settings) !== undefined) return reconcile?.(given)
            return new Promise<void>((resolve) => given.signal.addEventListener("abort", () => resolve()))
          },
        }
      }
      const expecting = { expect: { recorded: "ignore" }, stallMs: 1000 } as const
      const seeds = ["7: race update v1.ConfigMap shop/map-5 #1"]
      const stopping = await failureOf(waiting, [...changes.slice(0, 1), ...changes.slice(8, 10)], {
        ...expecting,
        seeds,
      })
      expect(stepsIn(stopping)).toHaveLength(4)
      const withoutHeader = traceOf(changes.slice(8, 10)).slice(1)
      await expect(expectRehearsal(overwriting, withoutHeader, { ...expecting, seeds })).rejects.toThrow(
        /^again with the seed "7: race update v1\.ConfigMap shop\/map-5 #1"$/m,
      )
    },
    patient(60_000),
  )

  test("misses deletions of what it makes", async () => {
    const creating = () =>
      defineController({
        name: "creating",
        for: "slinky.dev/v1.SimplePod",
        reconcile: async ({ object, cluster }) => {
          if (object === undefined || object.metadata.annotations?.made === "yes") return
          await cluster.create(setControllerReference(object, podFor(object, { name: object.metadata.name })))
          await cluster.patch(object, "merge", { metadata: { annotations: { made: "yes" } } })
        },
        owns: ["v1.Pod"],
      })
    const trace = [
      definition,
      { at: 1, object: simplePod("web", "nginx") },
      { at: 1.2, object: podOf("web", "nginx") },
      { at: 2, deleted: true, object: podOf("web", "nginx") },
      { at: 2.2, object: podOf("web", "nginx", { uid: "again" }) },
    ]
    const options = { feedsDeletions: true, expect: { ignore } }
    expect(await failureOf(creating, trace, options)).toMatch(
      /^undisturbed: misses a deletion: v1\.Pod shop\/web was deleted at change 3, .*, and no controller has created it again as in the recording/m,
    )
  })

  test("misses deletions while it is down", async () => {
    const forgetting = () =>
      defineController({
        name: "forgetting",
        for: "slinky.dev/v1.SimplePod",
        reads: ["v1.ConfigMap"],
        reconcile: async ({ key, object, cluster }) => {
          const [namespace = "", name = ""] = key.split("/")
          const map = { ...configMap(`${name}-config`, "x"), metadata: { name: `${name}-config`, namespace } }
          const known = cluster.cached("v1.ConfigMap").get(map.metadata)
          if (object === undefined) await cluster.delete(map)
          else if (known === undefined) await cluster.create(map)
        },
      })
    const trace = [
      definition,
      { at: 1, object: simplePod("web", "nginx") },
      { at: 2, deleted: true, object: simplePod("web", "nginx") },
    ]
    expect(await failureOf(forgetting, trace, { restartAt: "every-write" })).toMatch(
      /^restart 1: forgetting misses a deletion: v1\.ConfigMap shop\/web-config, which it made, is still there, and the undisturbed rehearsal has it no more\. .*\(since change 2, slinky\.dev\/v1\.SimplePod shop\/web deleted\)$/m,
    )
  })
})

test("A run that failed before a restart is no failure, if its object has gone while the process was down", async () => {
  const configMap = (at: number, name: string, deleted = false): Recorded => ({
    ...{ at, deleted },
    object: { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace: "shop" } },
  })
  const failing = () =>
    defineController({
      name: "failing",
      for: "v1.ConfigMap",
      reconcile: async ({ object, cluster }) => {
        if (object?.metadata.name === "broken") throw new Error("cannot be read")
        if (object !== undefined && object.metadata.labels?.seen !== "yes")
          await cluster.patch(object, "merge", { metadata: { labels: { seen: "yes" } } })
      },
    })
  const history = [configMap(1, "broken"), configMap(1.1, "sound"), configMap(1.2, "broken", true)]
  const trials = await expectRehearsal(failing, traceOf(history), {
    expect: { recorded: "ignore" },
    restartAt: "every-write",
  })
  expect(trials.map(({ name }) => name)).toEqual(["undisturbed", "restart 1"])
})

test(
  "A controller without these bugs passes, whatever disturbs it",
  async () => {
    const history = [
      definition,
      { at: 1, object: simplePod("web", "nginx:1") },
      { at: 1.2, object: podOf("web", "nginx:1") },
      { at: 3, object: simplePod("web", "nginx:2", { generation: 2 }) },
      { at: 3.1, deleted: true, object: podOf("web", "nginx:1") },
      { at: 3.2, object: podOf("web", "nginx:2") },
      { at: 4, object: simplePod("api", "nginx:1") },
      { at: 4.2, object: podOf("api", "nginx:1") },
      { at: 9, deleted: true, object: simplePod("api", "nginx:1") },
      { at: 9.1, deleted: true, object: podOf("api", "nginx:1") },
    ]
    const trials = await expectRehearsal(() => simplePods, traceOf(history), {
      expect: { ignore, counts: [{ kind: "v1.Pod", exactly: 1 }] },
      restartAt: "every-write",
      seeds: 30,
    })
    expect(trials.length).toBeGreaterThan(35)
  },
  patient(60_000),
)
