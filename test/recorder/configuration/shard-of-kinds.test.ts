/** Which kinds the recorders of a cluster record when they share it. */
import * as Result from "effect/Result"
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { defaultDetect, defaultIgnore } from "../../../src/kube/index.ts"
import { parseGvk } from "../../../src/kube/offline.ts"
import { parseConfiguration } from "../../../src/recorder/configuration/parse-configuration.ts"
import { WantedKinds } from "../../../src/recorder/configuration/reload/server-kinds.ts"
import type { RecorderShard } from "../../../src/recorder/configuration/shard-of-kinds.ts"
import { recordedWhole } from "../../../src/recorder/configuration/tracked-kind.ts"
import { watchedKinds } from "../../../src/recorder/watchers/pod-stream.ts"

const defaults = { defaultDetect, defaultIgnore }
const pods = { group: "", kind: "Pod" }
const count = 4

const wantedBy = (trackedObjects: object, shard?: RecorderShard): WantedKinds => {
  const text = JSON.stringify({ trackedObjects })
  const parsed = parseConfiguration(Buffer.from(text), { source: "shared.yml", defaults })
  const { configuration } = Result.getOrThrow(parsed)
  return new WantedKinds(configuration, { secretsInPlainText: false, namespaces: [], defaults, shard })
}

const shards = (split: RecorderShard["split"] = []): ReadonlyArray<RecorderShard> =>
  Array.from({ length: count }, (_, index) => ({ index, count, split }))

const workloads = {
  "apps/v1.Deployment": { trackLifecycle: true },
  "apps/v1.ReplicaSet": {},
  "apps/v1.StatefulSet": { trackLifecycle: true },
  "batch/v1.Job": {},
  "v1.Event": {},
  "v1.Node": {},
  "v1.Pod": {},
}

describe("the kinds of a shard", () => {
  test("together are all kinds, each once, whatever they are", () => {
    const name = fc.tuple(fc.stringMatching(/^[a-z]{1,8}$/), fc.stringMatching(/^[A-Z][A-Za-z]{0,8}$/))
    fc.assert(
      fc.property(
        fc.uniqueArray(name, { minLength: 1, maxLength: 8, selector: ([group, kind]) => `${group} ${kind}` }),
        (names) => {
          const kinds = names.map(([group, kind]) => `${group}.example.com/v1.${kind}`)
          const tracked = Object.fromEntries(kinds.map((kind) => [kind, {}]))
          const found = shards().flatMap((shard) => wantedBy(tracked, shard).kinds.map(({ gvkText }) => gvkText))
          expect(found.toSorted()).toEqual(kinds.toSorted())
        },
      ),
    )
  })

  test("with every kind of the server, another version of a kind stays where it was, and a new one belongs to one shard", () => {
    const found = (texts: ReadonlyArray<string>) =>
      shards().map((shard) => {
        const wanted = wantedBy({ "*": {} }, shard)
        wanted.discover(
          texts.flatMap((text) => {
            const gvk = parseGvk(text)
            return gvk
              ? [{ gvk, plural: `${gvk.kind.toLowerCase()}s`, verbs: ["list", "watch"], isNamespaced: true }]
              : []
          }),
        )
        return wanted.kinds.map(({ gvk }) => `${gvk.group}/${gvk.kind}`)
      })
    const before = ["v1.Pod", "v1.Event", "apps/v1.Deployment", "example.com/v1beta1.Widget"]
    const after = [...before.slice(0, 3), "example.com/v1.Widget"]
    expect(found(after)).toEqual(found(before))
    const more = found([...after, "example.com/v1.Gadget"])
    expect(more.flat().filter((kind) => kind === "example.com/Gadget")).toHaveLength(1)
  })

  test("of a split kind are its part, and its owners are looked up", () => {
    for (const shard of shards([{ kind: pods, by: "namespace" }])) {
      const { kinds } = wantedBy({ "v1.Pod": {} }, shard)
      expect(kinds.map((kind) => kind.shard)).toEqual([{ index: shard.index, count, by: "namespace" }])
      expect(recordedWhole(kinds)).toEqual([])
    }
  })

  test("follow lifecycles where Pods are, in one shard", () => {
    const streams = shards().map((shard) => {
      const { kinds } = wantedBy(workloads, shard)
      const names = kinds.map(({ gvkText }) => gvkText)
      expect(names.includes("apps/v1.Deployment")).toBe(names.includes("v1.Pod"))
      return watchedKinds(kinds).podStream
    })
    expect(streams.filter((stream) => stream !== undefined)).toEqual(["v1.Pod"])
  })

  test("follow lifecycles in every shard, each its own, if Pods are split", () => {
    for (const shard of shards([{ kind: pods, by: "uid" }])) {
      const part = { index: shard.index, count, by: "uid" as const }
      const whole = watchedKinds(wantedBy(workloads, shard).kinds)
      expect(whole.podStream).toBe("v1.Pod")
      // Pods that the watcher of Pods does not see are watched for their lifecycles alone: of this shard, too.
      const labelled = { ...workloads, "v1.Pod": { labelSelector: "app=web" } }
      const { kinds, podStream } = watchedKinds(wantedBy(labelled, shard).kinds)
      expect(kinds.find(({ gvkText }) => gvkText === podStream)?.shard).toEqual(part)
    }
  })
})
