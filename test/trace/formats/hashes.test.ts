/** Hashes that SimKube wrote into real traces, computed again from the objects in them. */

import { describe, expect, test } from "vitest"
import { stablePodSpecHash } from "../../../src/trace/formats/simkube/hash/stable-pod-spec.ts"
import { isJsonObject, type JsonObject, readSimkubeTrace, simkubeHash } from "../../../src/trace/index.ts"
import { goldenTrace } from "../recording.ts"
import { publishedTrace, whyNoPublished } from "./traces.ts"

interface Contents {
  /** `gvk name` → H of the spec of the object applied last. */
  readonly computed: Map<string, bigint>
  readonly index: Map<string, bigint>
  /** `gvk name` of the owner → hashes of the pods. */
  readonly pods: Map<string, ReadonlyArray<bigint>>
  readonly applied: ReadonlyArray<JsonObject>
}

const contentsOf = (bytes: Uint8Array): Contents => {
  const contents = { computed: new Map(), index: new Map(), pods: new Map(), applied: [] as JsonObject[] }
  for (const item of readSimkubeTrace([bytes])) {
    if (item.type === "applied") {
      const { apiVersion, kind, metadata, spec } = item.object
      const { namespace, name } = isJsonObject(metadata) ? metadata : {}
      contents.computed.set(
        `${String(apiVersion)}.${String(kind)} ${String(namespace)}/${String(name)}`,
        simkubeHash(spec),
      )
      contents.applied.push(item.object)
    } else if (item.type === "index") contents.index.set(`${item.gvk} ${item.name}`, item.hash)
    else if (item.type === "lifecycles") contents.pods.set(`${item.gvk} ${item.owner}`, [...item.pods.keys()])
  }
  return contents
}

describe("the index", () => {
  test.for([
    ["dsb-scaling.sktrace", 27],
    ["cronjob.sktrace", 1],
  ] as const)("of %s: all %i hashes are those of the objects applied last", ([name, size], context) => {
    if (whyNoPublished !== undefined) context.skip(whyNoPublished)
    const { computed, index } = contentsOf(publishedTrace(name))
    expect(index.size).toBe(size)
    expect(computed).toEqual(index)
  })

  test.each([
    ["recording", 6],
    ["recording-2", 5],
  ] as const)("of %s: all %i hashes are those of the objects applied last", (name, size) => {
    const { computed, index } = contentsOf(goldenTrace(name))
    expect(index.size).toBe(size)
    expect(computed).toEqual(index)
  })
})

describe("the hash of a pod", () => {
  test("in bare-pods is that of the pods in it", (context) => {
    if (whyNoPublished !== undefined) context.skip(whyNoPublished)
    const { applied, pods } = contentsOf(publishedTrace("bare-pods.sktrace"))
    expect([...pods.values()].flat()).toHaveLength(4)
    expect(new Set(applied.map(({ spec }) => stablePodSpecHash(spec)))).toEqual(new Set([...pods.values()].flat()))
  })

  test("in cronjob is that of the job's template as admission and the scheduler complete it", (context) => {
    if (whyNoPublished !== undefined) context.skip(whyNoPublished)
    const { applied, pods } = contentsOf(publishedTrace("cronjob.sktrace"))
    const template = at(applied[0], "spec", "jobTemplate", "spec", "template", "spec")
    expect(pods.get("batch/v1.CronJob default/hello-simkube")).toEqual([stablePodSpecHash(asAdmitted(template))])
  })
})

const at = (object: JsonObject | undefined, ...path: ReadonlyArray<string>): JsonObject => {
  let found: JsonObject = object ?? {}
  for (const key of path) {
    const next = found[key]
    if (!isJsonObject(next)) throw new Error(`there is no ${key}`)
    found = next
  }
  return found
}

/** What an API server of 2025 adds to every pod: tolerations, priority, and fields that the hash ignores. */
const asAdmitted = (spec: JsonObject): JsonObject => ({
  ...spec,
  enableServiceLinks: true,
  preemptionPolicy: "PreemptLowerPriority",
  priority: 0,
  tolerations: ["not-ready", "unreachable"].map((what) => ({
    effect: "NoExecute",
    key: `node.kubernetes.io/${what}`,
    operator: "Exists",
    tolerationSeconds: 300,
  })),
})
