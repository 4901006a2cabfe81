/** What of history a controller meets, and what becomes of the changes that both made. */
import { describe, expect, test } from "vitest"
import { simplePods } from "../../../examples/host/typescript/simplepod-controller.ts"
import { type ApiObject, defineController, type Pod } from "../../../src/host/controllers.ts"
import { replayInto } from "../../../src/library/rehearsal.ts"
import { type Body, podOf, simplePod, simplePodDefinition, traceOf } from "../history.ts"

const definition = { at: 0, isSnapshot: true, object: simplePodDefinition }

/** Watches and does nothing. */
const observer = (name = "simplepod") =>
  defineController({
    name,
    for: "slinky.dev/v1.SimplePod",
    owns: ["v1.Pod"],
    writes: ["slinky.dev/v1.SimplePod/status"],
    reconcile: () => undefined,
  })

const fedAs = async (...parameters: Parameters<typeof replayInto>) =>
  (await replayInto(...parameters)).steps.flatMap(({ cause }) => (cause.type === "change" ? [cause.fedAs] : []))

describe("What a controller made itself", () => {
  const trace = traceOf([
    definition,
    { at: 1, object: simplePod("web", "nginx") },
    { at: 2, object: podOf("web", "nginx") },
    { at: 3, object: podOf("web", "nginx", {}, { phase: "Running" }) },
    { at: 4, object: simplePod("web", "nginx", {}, { phase: "Running" }) },
    { at: 5, deleted: true, object: podOf("web", "nginx") },
  ])

  test("is left out, and its status with it, unless everything is to be fed", async () => {
    expect(await fedAs(observer(), trace)).toEqual([
      "created",
      "left-out",
      "left-out",
      "unchanged",
      "left-out-deletion",
    ])
    expect(await fedAs(observer(), trace, { feed: "all" })).toEqual([
      "created",
      "created",
      "updated",
      "updated",
      "deleted",
    ])
  })

  test("is fed as a function decides, which leaves the rest to the rule", async () => {
    const options = { feed: ({ gvk }: { gvk: string }) => (gvk === "v1.Pod" ? "all" : undefined) } as const
    expect(await fedAs(observer(), trace, options)).toEqual(["created", "created", "updated", "unchanged", "deleted"])
  })

  test("is there at the start, since a controller that starts again finds it", async () => {
    const result = await replayInto(observer(), trace, { from: "2026-01-01T00:00:04.500Z" })
    expect(result.object("slinky.dev/v1.SimplePod", "shop/web")?.status).toEqual({ phase: "Running" })
    // Its end is not history: nobody has deleted it here.
    expect(result.object<Pod>("v1.Pod", "shop/web")?.status).toEqual({ phase: "Running" })
  })

  test("is told from the status of others by managedFields, under every name that it had", async () => {
    const managed = (manager: string, member: string) => ({
      manager,
      operation: "Update",
      apiVersion: "slinky.dev/v1",
      fieldsType: "FieldsV1",
      fieldsV1: { "f:status": { [`f:${member}`]: {} } },
      subresource: "status",
    })
    const managedFields = [managed("simplepod-v0", "phase"), managed("scaler", "size")]
    const both = traceOf([
      definition,
      { at: 1, object: simplePod("web", "nginx") },
      { at: 2, object: simplePod("web", "nginx", { managedFields }, { phase: "Running", size: 3 }) },
    ])
    const statusWith = async (managers: ReadonlyArray<string>) =>
      (await replayInto(observer(), both, { managers })).object("slinky.dev/v1.SimplePod", "shop/web")?.status
    expect(await statusWith(["simplepod-v0"])).toEqual({ size: 3 })
    expect(await statusWith([])).toEqual({ phase: "Running", size: 3 })
  })
})

describe("An object that history changes", () => {
  const settings = (value: string, metadata: object = {}): Body => ({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "a", namespace: "shop", labels: { team: "x" }, ...metadata },
    data: { value, other: "kept" },
  })

  test("is exactly as recorded if no controller has changed it, with rising versions", async () => {
    const watcher = defineController({ name: "watcher", for: "v1.ConfigMap", reconcile: () => undefined })
    const identity = { uid: "its-own", creationTimestamp: "2020-01-01T00:00:00Z", generation: 4 }
    const trace = traceOf([
      { at: 1, object: settings("1", identity) },
      { at: 2, object: settings("2", { ...identity, managedFields: [{ manager: "kubectl" }] }) },
    ])
    const result = await replayInto(watcher, trace)
    const { metadata, ...content } = settings("2", identity)
    expect(result.object("v1.ConfigMap", "shop/a")).toEqual({
      ...content,
      metadata: { ...metadata, managedFields: [{ manager: "kubectl" }], resourceVersion: expect.any(String) },
    })
  })

  test("keeps what a controller wrote, except for the fields that history changes then", async () => {
    const labels = defineController({
      name: "labels",
      for: "v1.ConfigMap",
      reconcile: async ({ object, cluster }) => {
        if (object === undefined || object.metadata.labels?.mine === "yes") return
        await cluster.patch(object, "merge", {
          metadata: { labels: { mine: "yes" } },
          data: { value: "mine", added: "mine" },
        })
      },
    })
    const trace = traceOf([
      { at: 1, object: settings("1") },
      { at: 2, object: settings("1", { labels: { team: "y" } }) },
      { at: 3, object: settings("3", { labels: { team: "y" } }) },
    ])
    const states: Array<{ labels: unknown; data: unknown }> = []
    const result = await replayInto(labels, trace, {
      onStep: ({ cause }) =>
        void (cause.type === "change" && states.push({ labels: cause.differences, data: undefined })),
    })
    expect(result.object("v1.ConfigMap", "shop/a")).toMatchObject({
      metadata: { labels: { team: "y", mine: "yes" } },
      data: { value: "3", other: "kept", added: "mine" },
    })
    expect(states[1]?.labels).toEqual([{ path: "/metadata/labels/team", before: "x", after: "y" }])
  })

  test("is another one if its UID is another one, even if its deletion was not recorded", async () => {
    const seen: string[] = []
    const watcher = defineController({
      name: "watcher",
      for: {
        kind: "v1.ConfigMap",
        predicate: ({ previous, current }) => seen.push(`${previous?.metadata.uid} ${current?.metadata.uid}`) > 0,
      },
      reconcile: () => undefined,
    })
    await replayInto(
      watcher,
      traceOf([
        { at: 1, object: settings("1", { uid: "one" }) },
        { at: 2, object: settings("1", { uid: "two" }) },
      ]),
    )
    expect(seen).toEqual(["undefined one", "one undefined", "undefined two"])
  })

  test("is of a kind without a definition: it is served as Kubernetes' own clients would guess", async () => {
    const watcher = defineController({
      name: "watcher",
      for: "example.com/v1.Policy",
      reconcile: async ({ object, cluster }) => {
        if (object !== undefined) await cluster.patchStatus(object, { seen: true })
      },
    })
    const policy = {
      apiVersion: "example.com/v1",
      kind: "Policy",
      metadata: { name: "p", namespace: "shop" },
      spec: {},
    }
    const result = await replayInto(watcher, traceOf([{ at: 1, object: policy }]), { settleMs: 10_000 })
    expect(result.objects<ApiObject>("example.com/v1.Policy").map(({ status }) => status)).toEqual([{ seen: true }])
  })

  test("that controls the API server is never fed, since its webhooks would be called", async () => {
    const webhooks: Body = {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "ValidatingWebhookConfiguration",
      metadata: { name: "gate" },
      webhooks: [{ name: "gate.example.com", clientConfig: { url: "https://127.0.0.1:1/" } }],
    }
    const trace = traceOf([definition, { at: 1, object: webhooks }, { at: 2, object: simplePod("web", "nginx") }])
    expect(await fedAs(observer(), trace, { feed: "all" })).toEqual(["left-out", "created"])
  })
})

describe("A finalizer of the controller", () => {
  const withFinalizer = (at: number, deletionTimestamp?: string) => ({
    at,
    object: simplePod("web", "nginx", {
      finalizers: ["example.com/bucket"],
      ...(deletionTimestamp !== undefined && { deletionTimestamp }),
    }),
  })

  test("is its own: history neither sets nor removes it, and holds the object until the clean-up is done", async () => {
    const cleaned: number[] = []
    let isDone = false
    const buckets = defineController({
      name: "buckets",
      for: "slinky.dev/v1.SimplePod",
      finalizer: {
        name: "example.com/bucket",
        cleanUp: ({ cluster }) => {
          cleaned.push(Date.parse(cluster.now()) / 1000)
          if (!isDone) {
            isDone = true
            return { requeueAfterMs: 30_000 }
          }
          return undefined
        },
      },
      reconcile: () => undefined,
    })
    const trace = traceOf([
      definition,
      { at: 1, object: simplePod("web", "nginx") },
      withFinalizer(1.1),
      withFinalizer(10, "2026-01-01T00:00:10Z"),
      // Production's controller was quicker.
      { at: 11, object: simplePod("web", "nginx", { deletionTimestamp: "2026-01-01T00:00:10Z" }) },
      { at: 11.1, deleted: true, object: simplePod("web", "nginx") },
    ])
    const result = await replayInto(buckets, trace, { settleMs: 60_000 })
    const start = Date.parse("2026-01-01T00:00:00Z") / 1000
    expect(cleaned.map((second) => second - start)).toEqual([10, 40])
    expect(result.objects("slinky.dev/v1.SimplePod")).toEqual([])
    expect(result.trouble).toEqual([])
  })
})

describe("The deletion of an object that a controller makes, as long as its owner is there,", () => {
  const history = [
    { at: 0, isSnapshot: true, object: simplePodDefinition },
    { at: 1, object: simplePod("web", "nginx") },
    { at: 1.2, object: podOf("web", "nginx") },
    { at: 2, deleted: true, object: podOf("web", "nginx") },
    { at: 2.2, object: podOf("web", "nginx", { uid: "again" }) },
    { at: 5, deleted: true, object: simplePod("web", "nginx") },
    { at: 5.1, deleted: true, object: podOf("web", "nginx", { uid: "again" }) },
  ]
  const deletions = async (feedsDeletions?: boolean) => {
    const { steps } = await replayInto(simplePods, traceOf(history), { feedsDeletions, settleMs: 1000 })
    return steps.flatMap(({ cause }) =>
      cause.type === "change" && cause.kind === "v1.Pod" && cause.action === "deleted" ? [cause.fedAs] : [],
    )
  }

  test("is left out and told from those of the garbage collector", async () => {
    expect(await deletions()).toEqual(["left-out-deletion", "left-out"])
  })

  test("is fed if asked for, and the controller makes the object again", async () => {
    expect(await deletions(true)).toEqual(["deleted", "left-out"])
    const result = await replayInto(simplePods, traceOf(history.slice(0, 5)), { feedsDeletions: true })
    expect(result.object("v1.Pod", "shop/web")).toBeDefined()
    expect(result.writesOf({ kind: "v1.Pod" }).filter(({ status }) => status === 201)).toHaveLength(2)
  })
})
