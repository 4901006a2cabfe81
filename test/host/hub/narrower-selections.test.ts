/** Selections that are part of a wider one: which upstream serves them, and what they see of it. */
import { describe, expect, test } from "vitest"
import { kinds } from "../../../src/kube/index.ts"
import { type Consumer, startHub } from "./hub-on-sandbox.ts"

describe("A narrower subscription", () => {
  test.each([
    { namespace: "shop" },
    { labelSelector: "tier in (b, a),!canary" },
    { fieldSelector: "metadata.name=a" },
    { namespace: "shop", fieldSelector: "metadata.namespace!=default,metadata.name!=b", labelSelector: "tier=a" },
  ])(
    "sees of a wider watch what it would see of its own: $namespace $labelSelector $fieldSelector",
    async (selection) => {
      const { subscribe, put, remove, sees, watches } = await startHub()
      const change = (round: number): void => {
        put("a", String(round), { tier: round % 2 === 0 ? "a" : "c" }, "shop")
        put("b", String(round), { tier: "b", ...(round % 3 === 0 && { canary: "yes" }) }, "shop")
        put("a", String(round), { tier: "b" })
      }
      change(1)
      const own = subscribe(selection)
      await sees(() => own.isSynced)
      const wide = subscribe({ labelSelector: "" })
      await sees(() => wide.isSynced)
      // The narrow upstream that runs is not moved; another spelling of the wide one is the wide one.
      const spelled = { ...selection, fieldSelector: `metadata.name!=nobody,${selection.fieldSelector ?? ""}` }
      const served = subscribe(spelled)
      await sees(() => served.isSynced)
      const seen = (consumer: Consumer): number => {
        const { delivered, folded } = consumer.handle?.statistics() ?? { delivered: 0, folded: 0 }
        return delivered + folded
      }
      for (let round = 2; round < 8; round++) {
        change(round)
        await sees(() => [...wide.objects.values()].every(({ data }) => data?.value === String(round)))
        // Both have seen the same changes; otherwise one may fold what the other does not.
        await sees(() => seen(own) === seen(served))
      }
      remove("a", "shop")
      remove("a")
      remove("b", "shop")
      await sees(() => own.objects.size + wide.objects.size + served.objects.size === 0)
      expect(watches()).toBe(2)
      const told = ({ type, key, uid, version, bytes }: (typeof own.changes)[number]) => [
        type,
        key,
        uid,
        version,
        JSON.parse(bytes.toString() || "null"),
      ]
      const ofObjects = ({ uid }: { uid: string }) => uid !== ""
      expect(served.changes.filter(ofObjects).map(told)).toEqual(own.changes.filter(ofObjects).map(told))
      expect(own.changes.length).toBeGreaterThan(3)
    },
  )

  test("has an upstream of its own if only the server can select", async () => {
    const { subscribe, sees, hub } = await startHub()
    const pods = { kind: kinds.pods }
    const all = [
      subscribe(pods),
      subscribe({ ...pods, fieldSelector: "spec.nodeName=n1" }),
      subscribe({ ...pods, fieldSelector: "metadata.name=a,spec.nodeName==n1", namespace: "shop" }),
      subscribe({ ...pods, fieldSelector: "spec.nodeName=n2" }),
    ]
    await sees(() => all.every(({ isSynced }) => isSynced))
    expect(
      hub.statistics().upstreams.map(({ fieldSelector, subscriptions }) => [fieldSelector, subscriptions]),
    ).toEqual([
      ["", 1],
      ["spec.nodeName=n1", 2],
      ["spec.nodeName=n2", 1],
    ])
  })

  test("gets managedFields if it asks for them, from one upstream beside that of all others", async () => {
    const { subscribe, sees, sandbox, hub } = await startHub()
    const metadata = { name: "a", namespace: "default", managedFields: [{ manager: "m", operation: "Update" }] }
    sandbox.put("v1.ConfigMap", { metadata })
    const plain = [subscribe(), subscribe({ namespace: "default" })]
    const whole = [subscribe({ managedFields: true }), subscribe({ managedFields: true, namespace: "default" })]
    await sees(() => [...plain, ...whole].every(({ isSynced }) => isSynced))
    const shown = (consumer: (typeof plain)[number]) =>
      [...consumer.objects.values()].map(({ metadata: { managedFields } }) => managedFields !== undefined)
    expect(plain.map(shown)).toEqual([[false], [false]])
    expect(whole.map(shown)).toEqual([[true], [true]])
    expect(hub.statistics().upstreams.map(({ subscriptions }) => subscriptions)).toEqual([2, 2])
  })

  test("is not served from a wider one that the server forbids", async () => {
    const { subscribe, put, sees, states, sandbox } = await startHub()
    put("a", "1", {}, "shop")
    sandbox.faults.respond("configmaps", 403, { times: 1 })
    subscribe()
    await sees(() => states.includes("v1.ConfigMap: forbidden"), 0)
    const narrow = subscribe({ namespace: "shop" })
    await sees(() => narrow.isSynced, 0)
    expect(narrow.state).toEqual({ a: "1" })
  })

  test("gets an upstream of its own when the wider one for which it waits turns out to be forbidden", async () => {
    const { subscribe, put, sees, states, sandbox, hub } = await startHub()
    put("a", "1", { tier: "a" }, "shop")
    put("b", "1")
    sandbox.faults.respond("configmaps", 403, { times: 1 })
    const wide = subscribe()
    const narrow = [subscribe({ namespace: "shop" }), subscribe({ namespace: "shop", labelSelector: "tier=a" })]
    await sees(() => narrow.every(({ isSynced }) => isSynced), 0)
    expect(states).toContain("v1.ConfigMap: forbidden")
    expect(narrow.map(({ state }) => state)).toEqual([{ a: "1" }, { a: "1" }])
    expect(hub.statistics().upstreams.map(({ subscriptions }) => subscriptions)).toEqual([1, 2])
    // The wide one waits for its right.
    await sees(() => wide.isSynced)
    expect(wide.state).toEqual({ a: "1", b: "1" })
  })

  test("that has begun expires when the wider one becomes forbidden, and begins anew with its own", async () => {
    const { subscribe, put, remove, sees, states, sandbox } = await startHub()
    put("a", "1", {}, "shop")
    put("b", "1", {}, "shop")
    const wide = subscribe()
    const narrow = subscribe({ namespace: "shop" })
    await sees(() => wide.isSynced && narrow.isSynced)
    sandbox.faults.respond("configmaps", 403, { times: 1 })
    sandbox.faults.hangUp("configmaps")
    await sees(() => states.includes("v1.ConfigMap: forbidden"))
    remove("b", "shop")
    expect(narrow.story.at(-1)).toBe("expired")
    const again = subscribe({ namespace: "shop" })
    await sees(() => again.isSynced, 0)
    expect(again.state).toEqual({ a: "1" })
    expect(wide.isExpired).toBe(false)
  })

  test("of a cluster-scoped kind is the kind, whatever its namespace", async () => {
    const { subscribe, sees, hub } = await startHub()
    const all = [subscribe({ kind: kinds.namespaces, namespace: "x" }), subscribe({ kind: kinds.namespaces })]
    const byName = subscribe({ kind: kinds.namespaces.gvk, namespace: "x" })
    await sees(() => [...all, byName].every(({ isSynced }) => isSynced))
    expect(hub.statistics().upstreams).toHaveLength(1)
    expect(byName.objects.size).toBe(all[0]?.objects.size)
    expect(byName.objects.size).toBeGreaterThan(0)
  })
})
