/** An informer on a sandbox, over real HTTP, on a clock that the test advances: the guarantees of client-go's reflector. */

import { describe, expect, onTestFinished, test } from "vitest"
import { type InformerOptions, SharedInformer } from "../../../src/host/cache/shared-informer.ts"
import { ApiClient, type ApiObject, kinds } from "../../../src/kube/index.ts"
import { Sandbox } from "../../../src/sandbox/index.ts"
import { ManualClock } from "../../runtime/manual-clock.ts"
import { turn } from "../../runtime/until.ts"

const configMap = "v1.ConfigMap"

const start = async (options: Partial<InformerOptions> = {}) => {
  const clock = new ManualClock()
  const sandbox = await Sandbox.start({ clock, bookmarkInterval: 0 })
  const client = new ApiClient({ server: sandbox.endpoint, userAgent: "kubereel/test" })
  const troubles: string[] = []
  const informer = new SharedInformer<ApiObject>({
    connection: client.connection,
    kind: kinds.configMaps,
    clock,
    random: () => 0,
    onTrouble: (detail) => troubles.push(detail),
    ...options,
  })
  onTestFinished(async () => {
    informer.stop()
    client.close()
    await sandbox.close()
  })
  const put = (name: string, value: string, namespace = "default"): unknown =>
    sandbox.put(configMap, { metadata: { name, namespace, labels: { app: name } }, data: { value } })
  const story: string[] = []
  const listen = (into: string[]): (() => void) =>
    informer.cache.onChange((changes) => {
      for (const { previous, current, isFinalStateUnknown } of changes) {
        const { metadata, data } = (current ?? previous) as ApiObject & { readonly data: { readonly value: string } }
        const what = current === undefined ? (isFinalStateUnknown ? "lost" : "deleted") : "is"
        into.push(`${what} ${metadata.name} ${data.value}`)
      }
    })
  /** Lets a little time pass with every turn, so that back-offs end. */
  const sees = async (condition: () => boolean, msPerTurn = 1): Promise<void> => {
    while (!condition()) {
      clock.advance(msPerTurn)
      await turn()
    }
  }
  return { clock, sandbox, client, informer, put, story, listen, sees, troubles }
}

describe("An informer", () => {
  test("has synced only after the handlers have got the whole first list", async () => {
    const { informer, put, listen, sees, story } = await start()
    put("a", "1")
    put("b", "1")
    const whenTold: boolean[] = []
    informer.cache.onChange(() => whenTold.push(informer.hasSynced))
    listen(story)
    informer.start()
    expect(informer.hasSynced).toBe(false)
    await sees(() => informer.hasSynced)
    expect(story.sort()).toEqual(["is a 1", "is b 1"])
    expect(whenTold).toEqual([false])
    await informer.synced
  })

  test("delivers a deletion that it missed, with the last known state, and the object's replacement", async () => {
    const { informer, put, listen, sees, sandbox, story, client } = await start()
    for (const name of ["gone", "replaced", "kept"]) put(name, "1")
    informer.start()
    listen(story)
    await sees(() => informer.hasSynced)
    story.length = 0
    // The watch is cut, the history is compacted, and only a list can show it.
    await sandbox.faults.refuseConnections()
    sandbox.delete(configMap, "default", "gone")
    sandbox.delete(configMap, "default", "replaced")
    put("replaced", "2")
    put("new", "1")
    sandbox.faults.forceExpired("configmaps", 1)
    await sandbox.faults.acceptConnections()
    await sees(() => story.includes("is new 1"))
    expect([...story].sort()).toEqual(["is new 1", "is replaced 2", "lost gone 1", "lost replaced 1"])
    expect((await client.list(kinds.configMaps)).items).toHaveLength(informer.cache.size)
  })

  test("continues without a repeat after its watch was cut, and after a 410 in the middle of it", async () => {
    const { informer, put, listen, sees, sandbox, story } = await start()
    informer.start()
    listen(story)
    await sees(() => informer.hasSynced)
    put("a", "1")
    await sees(() => story.length === 1)
    sandbox.faults.hangUp("configmaps")
    put("a", "2")
    await sees(() => story.length === 2)
    sandbox.faults.expireWatches("configmaps")
    put("b", "1")
    await sees(() => story.length === 3)
    sandbox.delete(configMap, "default", "a")
    await sees(() => story.length === 4)
    expect(story).toEqual(["is a 1", "is a 2", "is b 1", "deleted a 2"])
  })

  test("delivers the present objects to a late handler, and the same changes to both from then on", async () => {
    const { informer, put, listen, sees, story } = await start()
    put("a", "1")
    informer.start()
    listen(story)
    await sees(() => informer.hasSynced)
    const late: string[] = []
    const end = listen(late)
    expect(late).toEqual(["is a 1"])
    put("b", "1")
    await sees(() => late.length === 2)
    end()
    put("c", "1")
    await sees(() => story.length === 3)
    expect(late).toEqual(["is a 1", "is b 1"])
  })

  test("reports a handler that throws, and loses no event", async () => {
    const { informer, put, listen, sees, story, troubles } = await start()
    informer.cache.onChange(() => {
      throw new Error("a defect")
    })
    listen(story)
    informer.start()
    put("a", "1")
    await sees(() => story.length === 1)
    put("a", "2")
    await sees(() => story.length === 2)
    expect(troubles[0]).toMatch(/^configmaps: a handler threw: Error: a defect/)
  })

  test("watches selected objects of a namespace", async () => {
    const { informer, put, listen, sees, story } = await start({ namespace: "shop", labelSelector: "app in (a,b)" })
    put("a", "1", "shop")
    put("a", "2", "elsewhere")
    put("c", "1", "shop")
    informer.start()
    listen(story)
    await sees(() => informer.hasSynced)
    put("b", "1", "shop")
    await sees(() => story.length === 2)
    expect(story).toEqual(["is a 1", "is b 1"])
  })

  test("takes the states of a restored server, whose versions are lower", async () => {
    const { informer, put, listen, sees, sandbox, story } = await start()
    put("a", "1")
    informer.start()
    listen(story)
    await sees(() => informer.hasSynced)
    const before = sandbox.resourceVersion
    for (let round = 2; round < 8; round++) put("a", String(round))
    await sees(() => story.length === 7)
    sandbox.faults.restart({ revision: BigInt(before) })
    await sees(() => story.at(-1) === "is a 1", 25)
    expect(informer.cache.get("default", "a")?.data).toEqual({ value: "1" })
  })

  test("whose credentials are refused fetches fresh ones and continues at once", async () => {
    const { sandbox, clock, put, sees } = await start()
    put("a", "1")
    sandbox.setToken("new")
    let token = "old"
    let endpoint = { server: sandbox.url, headers: [["Authorization", `Bearer ${token}`] as const] }
    const source = {
      endpoint: () => Promise.resolve(endpoint),
      onUnauthorized: () => {
        token = "new"
        endpoint = { server: sandbox.url, headers: [["Authorization", `Bearer ${token}`] as const] }
        return Promise.resolve()
      },
    }
    const client = new ApiClient({ server: source, userAgent: "kubereel/test" })
    const options = { connection: client.connection, kind: kinds.configMaps, clock, random: () => 0 }
    const informer = new SharedInformer<ApiObject>(options)
    onTestFinished(() => {
      informer.stop()
      client.close()
    })
    informer.start()
    // The clock does not advance, so there is no back-off.
    await sees(() => informer.hasSynced, 0)
    expect([token, informer.cache.size]).toEqual(["new", 1])
  })
})
