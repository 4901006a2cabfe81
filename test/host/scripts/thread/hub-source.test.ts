/** Caches of a script thread over a real hub on a sandbox: what an informer guarantees, over the ends of subscriptions, of hubs and of histories. */
import { isDeepStrictEqual } from "node:util"
import fc from "fast-check"
import { describe, expect, onTestFinished, test } from "vitest"
import type { OpenCache } from "../../../../src/host/controller/access/shared-caches.ts"
import type { Delivery } from "../../../../src/host/hub/deliveries.ts"
import type { HubSubscriptionHandle } from "../../../../src/host/hub/hub-change.ts"
import { HubSource } from "../../../../src/host/scripts/thread/hub-source.ts"
import { type ApiObject, kinds } from "../../../../src/kube/index.ts"
import { turn } from "../../../runtime/until.ts"
import { configMap, startHub } from "../../hub/hub-on-sandbox.ts"

type ConfigMap = ApiObject & { readonly data?: Readonly<Record<string, string>> }

const start = async (options: Parameters<typeof startHub>[0] = {}) => {
  const hubbed = await startHub(options)
  const { hub, sandbox } = hubbed
  const handles = new Map<number, HubSubscriptionHandle>()
  const rows = new Map<number, number>()
  const story: string[] = []
  const troubles: string[] = []
  let missed = 0
  let subscriptions = 0
  /** Set, it sees each row before it is delivered; `undefined` drops it. */
  const wire: { through: (row: Delivery) => Delivery | undefined; isHeld: boolean } = {
    through: (row) => row,
    isHeld: false,
  }
  const deliver = (subscription: number): void => {
    const handle = handles.get(subscription)
    if (handle === undefined || wire.isHeld) return
    const taken = handle.take().flatMap((change) => {
      const number = (rows.get(subscription) ?? 0) + 1
      rows.set(subscription, number)
      return wire.through({ subscription, number, change }) ?? []
    })
    source.deliver(taken)
    if (handle.pending > 0) queueMicrotask(() => deliver(subscription))
  }
  const source = new HubSource({
    subscribe: (subscription, { namespace, labelSelector }) => {
      subscriptions++
      // As through another thread: not at once.
      queueMicrotask(() => {
        const request = {
          id: String(subscription),
          kind: kinds.configMaps,
          namespace,
          labelSelector,
        } as const
        const available = (): void => queueMicrotask(() => deliver(subscription))
        handles.set(subscription, hub.subscribe(request, { available }))
        available()
      })
    },
    unsubscribe: (subscription) => {
      handles.get(subscription)?.unsubscribe()
      handles.delete(subscription)
    },
    missed: (count) => {
      missed += count
    },
    trouble: (detail) => troubles.push(detail),
  })
  const open = (selection: object = {}): OpenCache => {
    const opened = source.open({ kind: kinds.configMaps, ...selection })
    onTestFinished(() => opened.close())
    return opened
  }
  const cacheOf = ({ cache }: OpenCache) => {
    if (cache === undefined) throw new Error("the cache is not there")
    return cache
  }
  const listen = (opened: OpenCache): void =>
    void cacheOf(opened).onChange((changes) => {
      for (const { previous, current, isFinalStateUnknown } of changes) {
        const { metadata, data } = (current ?? previous) as ConfigMap
        const what = current === undefined ? (isFinalStateUnknown ? "lost" : "deleted") : "is"
        story.push(`${what} ${metadata.name} ${data?.value}`)
      }
    })
  const stateOf = (opened: OpenCache) =>
    Object.fromEntries(
      [...(cacheOf(opened).all() as Iterable<ConfigMap>)].map(({ metadata, data }) => [metadata.name, data?.value]),
    )
  const isSynced = async (opened: OpenCache): Promise<void> => {
    let done = false
    void opened.synced.then(() => {
      done = true
    })
    await hubbed.sees(() => done)
  }
  const get = (name: string) => sandbox.get(configMap, "default", name) as unknown as ConfigMap
  /** The hub ends, as its thread may; meanwhile nothing is watched. */
  const endHub = (): void => {
    for (const [subscription, handle] of [...handles]) {
      handle.unsubscribe()
      handles.delete(subscription)
      source.ended(subscription, "")
    }
  }
  return {
    ...hubbed,
    source,
    open,
    cacheOf,
    listen,
    stateOf,
    isSynced,
    story,
    troubles,
    wire,
    get,
    endHub,
    handles,
    missed: () => missed,
    close: async () => {
      hub.stop()
      await sandbox.close()
    },
    subscriptions: () => subscriptions,
  }
}

describe("A cache over the hub", () => {
  test("is synced with the whole state, and follows it", async () => {
    const { open, isSynced, stateOf, listen, put, remove, sees, story } = await start()
    put("a", "1")
    put("b", "1")
    const opened = open()
    let isEarly = false
    void opened.synced.then(() => {
      isEarly = Object.keys(stateOf(opened)).length < 2
    })
    await isSynced(opened)
    expect(isEarly).toBe(false)
    listen(opened)
    put("a", "2")
    remove("b")
    put("c", "1")
    await sees(() => story.includes("is c 1"))
    expect(story).toEqual(["is a 1", "is b 1", "is a 2", "deleted b 1", "is c 1"])
  })

  test("delivers what was deleted while there was no hub, with the last known state", async () => {
    const { open, isSynced, listen, put, remove, sees, story, endHub, stateOf, hub, clock } = await start({
      graceMs: 1,
    })
    for (const name of ["gone", "replaced", "kept"]) put(name, "1")
    const opened = open()
    await isSynced(opened)
    listen(opened)
    story.length = 0
    const held = hub.statistics().upstreams.length
    expect(held).toBe(1)
    remove("gone")
    remove("replaced")
    put("replaced", "2")
    endHub()
    clock.advance(2)
    await sees(() => stateOf(opened).replaced === "2" && !("gone" in stateOf(opened)))
    expect(story.toSorted()).toEqual(["is replaced 2", "lost gone 1", "lost replaced 1"])
    expect(stateOf(opened)).toEqual({ kept: "1", replaced: "2" })
  })

  test("has own writes at once, and no older state of the hub takes them back", async () => {
    const { open, isSynced, cacheOf, put, get, remove, sees, wire, endHub, stateOf, story, listen } = await start()
    put("a", "1")
    const opened = open()
    await isSynced(opened)
    const cache = cacheOf(opened)
    const first = get("a")
    wire.isHeld = true
    put("a", "2")
    put("new", "1")
    cache.wrote(get("a"))
    cache.wrote(get("new"))
    expect(stateOf(opened)).toEqual({ a: "2", new: "1" })
    cache.wrote(first)
    expect(stateOf(opened).a).toBe("2")
    listen(opened)
    story.length = 0
    wire.isHeld = false
    endHub()
    put("last", "1")
    await sees(() => stateOf(opened).last === "1")
    expect(story).toEqual(["is last 1"])
    remove("new")
    cache.removed(get("a"))
    await sees(() => !("new" in stateOf(opened)))
    expect(stateOf(opened)).toEqual({ last: "1" })
  })

  test("takes the state of a restored server, whose versions are lower, also for what only an own write has brought", async () => {
    const { open, isSynced, cacheOf, put, get, sees, sandbox, stateOf, wire } = await start()
    put("a", "1")
    put("written", "1")
    const opened = open()
    await isSynced(opened)
    const before = sandbox.resourceVersion
    for (let round = 2; round < 8; round++) put("a", String(round))
    put("later", "1")
    await sees(() => stateOf(opened).later === "1")
    wire.isHeld = true
    put("written", "2")
    cacheOf(opened).wrote(get("written"))
    wire.isHeld = false
    sandbox.faults.restart({ revision: BigInt(before) })
    await sees(() => stateOf(opened).written === "1" && stateOf(opened).a === "1", 25)
    expect(stateOf(opened)).toEqual({ a: "1", written: "1" })
    put("a", "new")
    await sees(() => stateOf(opened).a === "new")
  })

  test("takes the state of a new history whose versions have passed those of the old one before it is listed", async () => {
    const { open, isSynced, cacheOf, stateOf, put, get, sees, handles, source } = await start()
    put("a", "1")
    const opened = open()
    await isSynced(opened)
    const { metadata } = get("a")
    const ahead = {
      ...get("a"),
      metadata: { ...metadata, resourceVersion: "1000000" },
      data: { value: "of the old history" },
    }
    cacheOf(opened).wrote(ahead)
    expect(stateOf(opened)).toEqual({ a: "of the old history" })
    const [subscription = 0] = handles.keys()
    const change = { key: "", uid: "", version: "", bytes: Buffer.alloc(0), isFinalStateUnknown: false }
    source.deliver([{ subscription, number: 3, change: { ...change, type: "history" } }])
    put("b", "1")
    await sees(() => stateOf(opened).b === "1")
    expect(stateOf(opened)).toEqual({ a: "1", b: "1" })
  })

  test("delivers a deletion that only a list of the hub has shown, as one", async () => {
    const { open, isSynced, listen, put, remove, sees, story, sandbox, subscriptions } = await start()
    put("gone", "1")
    const opened = open()
    await isSynced(opened)
    listen(opened)
    await sandbox.faults.refuseConnections()
    remove("gone")
    put("new", "1")
    sandbox.faults.forceExpired("configmaps", 1)
    await sandbox.faults.acceptConnections()
    await sees(() => story.includes("is new 1"))
    expect(story).toEqual(["is gone 1", "lost gone 1", "is new 1"])
    expect(subscriptions()).toBe(1)
  })

  test("notices a server that was restored while there was no hub, by its list", async () => {
    const { open, isSynced, put, sees, sandbox, stateOf, endHub, clock, wire } = await start({ graceMs: 1 })
    put("a", "1")
    const opened = open()
    await isSynced(opened)
    const before = sandbox.resourceVersion
    for (let round = 2; round < 8; round++) put("a", String(round))
    await sees(() => stateOf(opened).a === "7")
    wire.isHeld = true
    sandbox.faults.restart({ revision: BigInt(before) })
    endHub()
    clock.advance(2)
    wire.isHeld = false
    await sees(() => stateOf(opened).a === "1", 25)
  })

  test("lists again when a row is missing, and counts it", async () => {
    const { open, isSynced, put, sees, stateOf, wire, missed, subscriptions } = await start()
    const opened = open()
    await isSynced(opened)
    wire.through = (row) => (row.change.key === "default/a" && row.subscription === 1 ? undefined : row)
    put("a", "1")
    put("b", "1")
    await sees(() => stateOf(opened).a === "1" && stateOf(opened).b === "1")
    expect([missed(), subscriptions()]).toEqual([1, 2])
  })

  test("misses no last state and no deletion, whatever happens between it and the server", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(fc.nat(9), fc.nat(5)), { minLength: 20, maxLength: 120 }), async (steps) => {
        const { open, isSynced, cacheOf, put, remove, get, sees, sandbox, stateOf, endHub, wire, clock, close, hub } =
          await start({
            graceMs: 3,
          })
        try {
          const opened = open()
          await isSynced(opened)
          const cache = cacheOf(opened)
          const known = new Map<string, ConfigMap>()
          const wrong: string[] = []
          cache.onChange((changes) => {
            for (const { previous, current } of changes) {
              const { uid = "", name } = (current ?? previous)?.metadata ?? { name: "" }
              if (current === undefined && !known.delete(uid)) wrong.push(`${name} is gone and was not known`)
              if (current !== undefined) known.set(uid, current as ConfigMap)
            }
          })
          let drop = 0
          wire.through = (row) => (drop > 0 && drop-- > 0 ? undefined : row)
          for (const [index, [what, which]] of steps.entries()) {
            const name = `o${which}`
            const isThere = sandbox.get(configMap, "default", name) !== undefined
            if (what <= 2) put(name, String(index))
            else if (what === 3 && isThere) remove(name)
            else if (what === 4) {
              put(name, String(index))
              cache.wrote(get(name))
            } else if (what === 5 && isThere) {
              const object = get(name)
              remove(name)
              cache.removed(object)
            } else if (what === 6) endHub()
            else if (what === 7) sandbox.faults.hangUp("configmaps")
            else if (what === 8) sandbox.faults.forceExpired("configmaps", 1)
            else if (what === 9) drop = 1
            if (which % 2 === 0) {
              clock.advance(1)
              await turn()
            }
          }
          drop = 0
          put("end", "end")
          const expected = Object.fromEntries(
            ["end", ...Array.from({ length: 6 }, (_, which) => `o${which}`)].flatMap((name) => {
              const object = sandbox.get(configMap, "default", name) as unknown as ConfigMap | undefined
              return object === undefined ? [] : [[name, object.data?.value]]
            }),
          )
          let turns = 0
          await sees(() => {
            // Within the property: what is found is made smaller, which a time limit would not let happen.
            if (turns++ > 3000)
              throw new Error(`it stays at ${JSON.stringify(stateOf(opened))}: ${JSON.stringify(hub.statistics())}`)
            return isDeepStrictEqual(stateOf(opened), expected)
          }, 5)
          const told = [...known.values()].map(({ metadata, data }) => [metadata.name, data?.value])
          expect([Object.fromEntries(told), told.length, wrong]).toEqual([expected, Object.keys(expected).length, []])
        } finally {
          await close()
        }
      }),
      { numRuns: 20 },
    )
  })

  test("says once why it cannot be watched, and is watched again when the refusal is over", async () => {
    const { open, isSynced, troubles, source, put, sees, stateOf } = await start()
    const opened = open()
    await isSynced(opened)
    source.ended(1, "the hub is busy")
    source.ended(2, "the hub is busy")
    put("a", "1")
    await sees(() => stateOf(opened).a === "1")
    expect(troubles).toEqual(["v1.ConfigMap cannot be watched: the hub is busy"])
  })
})
