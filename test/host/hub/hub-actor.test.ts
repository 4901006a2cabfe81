/** The hub in a worker of its own, on a sandbox over real HTTP, with receivers that get its frames. */
import * as Effect from "effect/Effect"
import { describe, expect, onTestFinished, test } from "vitest"
import { systemClock } from "../../../src/clock.ts"
import { type Delivery, readDeliveries } from "../../../src/host/hub/deliveries.ts"
import {
  deliveriesMailbox,
  type HubConfig,
  type HubReport,
  hubDefinition,
} from "../../../src/host/hub/hub-interface.ts"
import { InvalidSubscription } from "../../../src/host/hub/hub-selection.ts"
import { hostMemoryLimits, hostWorkerEntry } from "../../../src/host/worker-entries.ts"
import { ActorSystem, type Frame, type Inbox, localThread, workerThread } from "../../../src/runtime/index.ts"
import { Sandbox } from "../../../src/sandbox/index.ts"
import { eventually } from "../../harness/eventually.ts"

const configMap = "v1.ConfigMap"

interface Row {
  readonly subscription: number
  readonly type: string
  readonly key: string
  readonly value: string | undefined
}

/** Keeps what it gets, and acknowledges it at once or when the test says so. */
class Receiver {
  readonly rows: Row[] = []
  readonly frames: number[] = []
  acknowledges = true
  inbox: Inbox | undefined
  readonly #waiting: Array<() => void> = []

  frame(sender: string, { incarnation, number, payload }: Frame): void {
    const deliveries = readDeliveries(payload)
    this.frames.push(deliveries.length)
    this.rows.push(...deliveries.map(rowOf))
    this.#waiting.push(() => this.inbox?.acknowledge(sender, incarnation, number))
    if (this.acknowledges) this.acknowledge()
  }

  acknowledge(): void {
    for (const done of this.#waiting.splice(0)) done()
  }

  of(subscription: number): ReadonlyArray<string> {
    return this.rows
      .filter((row) => row.subscription === subscription)
      .map(({ type, key, value }) => [type, key, value].filter(Boolean).join(" "))
  }
}

const rowOf = ({ subscription, change }: Delivery): Row => {
  const object = JSON.parse(change.bytes.toString() || "{}") as { data?: { value: string } }
  return { subscription, type: change.type, key: change.key, value: object.data?.value?.slice(0, 3) }
}

const start = async (config: Partial<HubConfig> = {}) => {
  const sandbox = await Sandbox.start()
  const system = new ActorSystem()
  onTestFinished(async () => {
    await system.stop()
    await sandbox.close()
  })
  const reports: HubReport[] = []
  let lives = 0
  const hub = system.spawn({
    definition: hubDefinition,
    name: "hub",
    start: workerThread(hostWorkerEntry("hub"), hostMemoryLimits.hub),
    config: () => ({ endpoint: sandbox.endpoint, userAgent: "kubereel/test", ...config }),
    incarnation: () => ++lives,
    onReport: (report: HubReport) => reports.push(report),
  })
  const receivers = ["one", "two"].map((name) => {
    const receiver = new Receiver()
    const definition = { role: "receiver", control: {} }
    const actor = system.spawn<number, Record<string, never>, never>({
      definition,
      name,
      start: localThread<number, Record<string, never>, never>(
        definition,
        (context) =>
          Effect.sync(() => {
            receiver.inbox = context.inbox(deliveriesMailbox(name), {
              attached: () => undefined,
              frame: (sender, frame) => receiver.frame(sender, frame),
            })
            return {}
          }),
        systemClock,
      ),
      config: () => 0,
      incarnation: () => 1,
    })
    system.link(deliveriesMailbox(name), hub, actor)
    return receiver
  })
  await Effect.runPromise(hub.running())
  const [one, two] = receivers as [Receiver, Receiver]
  const subscribe = (receiver: string, id: number, more: object = {}): Promise<void> =>
    Effect.runPromise(hub.call("subscribe", { receiver, id, gvk: configMap, ...more }))
  const put = (name: string, value: string): void => {
    sandbox.put(configMap, { metadata: { name, namespace: "default" }, data: { value } })
  }
  const statistics = () => Effect.runPromise(hub.call("statistics", undefined))
  return { sandbox, hub, one, two, subscribe, put, statistics, reports }
}

describe("The hub's actor", () => {
  test("delivers one watch to subscriptions of several receivers, many rows in a frame and each object once", async () => {
    const { sandbox, one, two, subscribe, put, statistics } = await start()
    for (let index = 0; index < 20; index++) put(`c${index}`, "1")
    for (let id = 0; id < 25; id++) await Promise.all([subscribe("one", id), subscribe("two", id)])
    await eventually(() => expect([one.rows.length, two.rows.length]).toEqual([25 * 21, 25 * 21]))
    const before = one.frames.length
    put("c0", "2")
    await eventually(() => expect([one.rows.length, two.rows.length]).toEqual([25 * 22, 25 * 22]))
    expect(one.of(24).at(-1)).toBe("modified default/c0 2")
    // All subscriptions of a receiver get the change in one frame.
    expect(one.frames.slice(before)).toEqual([25])
    expect(sandbox.requests.count({ resource: "configmaps", verb: "watch" })).toBe(1)
    const { upstreams, subscriptions } = await statistics()
    expect(upstreams).toMatchObject([
      { kind: configMap, state: "watching", objects: 20, subscriptions: 50, changes: 21 },
    ])
    expect(subscriptions).toHaveLength(50)
    expect(subscriptions[0]).toMatchObject({ id: "one 0", isSynced: true, delivered: 21, folded: 0, pending: 0 })
  })

  test("folds what a receiver does not acknowledge, and a paused subscription's changes, without holding up others", async () => {
    const { one, two, subscribe, put, hub, statistics } = await start({ windowBytes: 4096 })
    await Promise.all([subscribe("one", 1), subscribe("two", 1), subscribe("two", 2)])
    await eventually(() => expect([one.of(1), two.of(1), two.of(2)]).toEqual([["synced"], ["synced"], ["synced"]]))
    one.acknowledges = false
    await Effect.runPromise(hub.call("pause", { receiver: "two", id: 2, isPaused: true }))
    // More than the window and the buffer of a mailbox.
    for (let round = 100; round < 130; round++) {
      put("a", `${round}${"x".repeat(40_000)}`)
      await eventually(() =>
        expect(two.of(1).at(-1)).toBe(`${round === 100 ? "added" : "modified"} default/a ${round}`),
      )
    }
    expect(one.of(1).length).toBeLessThan(30)
    expect(two.of(2)).toEqual(["synced"])
    one.acknowledges = true
    one.acknowledge()
    await Effect.runPromise(hub.call("pause", { receiver: "two", id: 2, isPaused: false }))
    await eventually(() =>
      expect([one.of(1).at(-1), two.of(2).at(-1)]).toEqual(["modified default/a 129", "added default/a 129"]),
    )
    const { subscriptions } = await statistics()
    const counts = subscriptions.map(({ delivered, folded }) => delivered + folded)
    expect(counts).toEqual([30, 30, 30])
    expect(two.of(2)).toHaveLength(2)
  })

  test("delivers nothing of an ended subscription or to a released receiver, and ends the watch after a while", async () => {
    const { one, two, subscribe, put, hub, statistics } = await start({ graceMs: 1 })
    await Promise.all([subscribe("one", 1), subscribe("one", 2), subscribe("two", 1)])
    await eventually(() => expect([one.of(1), one.of(2), two.of(1)]).toEqual([["synced"], ["synced"], ["synced"]]))
    await Effect.runPromise(hub.call("unsubscribe", { receiver: "one", id: 1 }))
    await Effect.runPromise(hub.call("release", { receiver: "two" }))
    put("a", "1")
    await eventually(() => expect(one.of(2).at(-1)).toBe("added default/a 1"))
    await Effect.runPromise(hub.call("release", { receiver: "one" }))
    await eventually(async () => expect(await statistics()).toEqual({ upstreams: [], subscriptions: [] }))
    expect([one.of(1), two.of(1)]).toEqual([["synced"], ["synced"]])
  })

  test("refuses a subscription that is none, with the error of the engine", async () => {
    const { hub, subscribe } = await start()
    await subscribe("one", 1)
    const refusal = (payload: object): Promise<InvalidSubscription> =>
      Effect.runPromise(
        Effect.flip(hub.call("subscribe", { receiver: "one", id: 2, gvk: configMap, ...payload })),
      ) as Promise<InvalidSubscription>
    expect(await refusal({ labelSelector: "a in" })).toBeInstanceOf(InvalidSubscription)
    expect((await refusal({ gvk: "pods" })).message).toBe('gvk: "pods" is not GROUP/VERSION.KIND')
    expect((await refusal({ id: 1 })).message).toBe("id: one has a subscription 1 already")
    expect((await refusal({ id: -1 })).message).toBe("id: -1 is not an integer of 32 bits")
  })

  test("asks for fresh credentials and retries with them at once; tells a resuming subscriber to list", async () => {
    const { sandbox, hub, one, subscribe, reports } = await start({ policy: { backOff: never } })
    sandbox.setToken("secret")
    await subscribe("one", 1, { after: "5" })
    await eventually(() => expect(reports).toContainEqual({ type: "unauthorized" }))
    const headers = [["Authorization", "Bearer secret"]] as const
    await Effect.runPromise(hub.call("credentials", { ...sandbox.endpoint, headers }))
    await eventually(() => expect(one.of(1)).toEqual(["expired"]))
    await eventually(() =>
      expect(reports).toContainEqual(expect.objectContaining({ type: "state", state: "watching" })),
    )
  })
})

/** An hour between attempts. */
const never = { initialMs: 3_600_000, maximumMs: 3_600_000, factor: 1, jitter: 0, resetAfterMs: 1 }
