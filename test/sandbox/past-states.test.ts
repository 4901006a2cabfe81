/** States, pages and resumed watches of the store, against a model that keeps every state. */

import fc from "fast-check"
import { expect, test } from "vitest"
import { compact, pageOf } from "../../src/apiserver/index.ts"
import { systemClock } from "../../src/clock.ts"
import { Ledger } from "../../src/sandbox/store/ledger.ts"
import { ObjectStore } from "../../src/sandbox/store/object-store.ts"

const configMaps = { gvk: { group: "", version: "v1", kind: "ConfigMap" }, plural: "configmaps", namespaced: true }
const secrets = { gvk: { group: "", version: "v1", kind: "Secret" }, plural: "secrets", namespaced: true }
const everything = { labels: [], fields: [] }

interface Step {
  readonly kind: "v1.ConfigMap" | "v1.Secret"
  readonly namespace: string
  readonly name: string
  readonly remove: boolean
}

const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom("v1.ConfigMap", "v1.Secret"),
  namespace: fc.constantFrom("a", "a-b", "b"),
  name: fc.constantFrom("x", "x-y", "x.z", "y"),
  remove: fc.boolean(),
})

/** Runs the steps; returns the keys with versions of all ConfigMaps after every revision, index 0 being revision 10. */
const run = (steps: ReadonlyArray<Step>, historyLimit: number) => {
  const ledger = new Ledger("versions")
  const store = new ObjectStore({ clock: systemClock, ledger, format: compact, historyLimit, revision: 10n })
  for (const resource of [configMaps, secrets]) store.open(resource)
  const model = new Map<string, string>()
  const states: ReadonlyArray<string>[] = [[]]
  for (const { kind, namespace, name, remove } of steps) {
    const key = `${namespace}/${name}`
    const exists = store.get(kind, namespace, name) !== undefined
    if (remove && !exists) continue
    const { metadata } = remove
      ? store.delete(kind, namespace, name)
      : store.put(kind, { metadata: { name, namespace } })
    if (kind === "v1.ConfigMap" && remove) model.delete(key)
    else if (kind === "v1.ConfigMap") model.set(key, metadata.resourceVersion)
    states.push(Array.from(model, ([at, version]) => `${at}@${version}`).sort())
  }
  return { collection: store.collection("v1.ConfigMap"), states, ledger }
}

const labels = (changes: ReadonlyArray<{ namespace: string; name: string; revision: bigint }>): ReadonlyArray<string> =>
  changes.map(({ namespace, name, revision }) => `${namespace}/${name}@${revision}`)

test("every state within the history is the past state, also in pages of any size", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), fc.nat(12), fc.integer({ min: 1, max: 4 }), (steps, limit, size) => {
      const { collection, states } = run(steps, limit)
      for (const [index, state] of states.entries()) {
        const revision = 10n + BigInt(index)
        if (revision < collection.history.floor) continue
        const snapshot = collection.snapshotAt(revision)
        expect(labels(pageOf(snapshot, everything, 0, "").changes).toSorted()).toEqual(state)
        const paged: string[] = []
        let start: string | undefined = ""
        while (start !== undefined) {
          const page = pageOf(snapshot, everything, size, start)
          paged.push(...labels(page.changes))
          expect(page.remaining ?? 0).toBe(state.length - paged.length)
          start = page.next
        }
        expect(paged.toSorted()).toEqual(state)
      }
    }),
  )
})

test("a watch resumed anywhere above the floor gets exactly the later changes, in order", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), fc.nat(12), (steps, limit) => {
      const { collection, states, ledger } = run(steps, limit)
      const all = ledger.of("v1.ConfigMap").map(({ resourceVersion }) => BigInt(resourceVersion))
      expect(collection.history.size).toBe(Math.min(limit, all.length))
      for (const index of states.keys()) {
        const version = 10n + BigInt(index)
        if (version < collection.history.floor) continue
        const resumed = collection.history.after(version).map(({ change }) => change.revision)
        expect(resumed).toEqual(all.filter((revision) => revision > version))
      }
    }),
  )
})

test("a page of a namespace never shows a namespace whose name begins alike", () => {
  const { collection } = run(
    ["a", "a-b", "b"].map((namespace) => ({ kind: "v1.ConfigMap", namespace, name: "x", remove: false })),
    100,
  )
  const page = pageOf(collection.snapshotAt(13n), { ...everything, namespace: "a" }, 1, "")
  expect(labels(page.changes)).toEqual(["a/x@11"])
  expect(page.next).toBeUndefined()
})
