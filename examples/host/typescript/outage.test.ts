/** The controller against what a cluster went through: `npx vitest run examples/host/typescript`. */
import { fileURLToPath } from "node:url"
import type { Pod } from "kubereel/host"
import { replayInto } from "kubereel/rehearsal"
import { describe, expect, test } from "vitest"
import { simplePods } from "./simplepod-controller.ts"
import type { SimplePod } from "./simplepod-types.ts"

/** A node failed, an image was changed, and `web` was deleted and created again within 20 ms. */
const outage = fileURLToPath(new URL("outage.ndjson", import.meta.url))

describe("After the outage", () => {
  test("every SimplePod has one pod, with its image and as its own", async () => {
    const result = await replayInto(simplePods, outage, { settleMs: 60_000 })
    expect(result.trouble).toEqual([])
    for (const { metadata, spec } of result.objects<SimplePod>("slinky.dev/v1.SimplePod")) {
      const pod = result.object<Pod>("v1.Pod", `${metadata.namespace}/${metadata.name}`)
      expect(pod?.spec.containers[0]?.image).toBe(spec.image)
      expect(pod?.metadata.ownerReferences?.[0]?.uid).toBe(metadata.uid)
    }
    expect(result.objects("v1.Pod")).toHaveLength(2)
  })

  test("the status had followed the pods of that day", async () => {
    const result = await replayInto(simplePods, outage)
    const phases = result
      .writesOf({ object: "shop/api", subresource: "status" })
      .flatMap(({ differences }) => differences.filter(({ path }) => path === "/status/phase"))
      .map(({ after }) => after)
    expect(phases).toEqual(["Failed", "Pending"])
  })

  test("requests that take 30 ms make no difference at the end", async () => {
    const [quick, slow] = await Promise.all(
      [0, 30].map((latencyMs) => replayInto(simplePods, outage, { latencyMs, settleMs: 60_000 })),
    )
    const images = (result: typeof quick) => result?.objects<Pod>("v1.Pod").map(({ spec }) => spec.containers[0]?.image)
    expect(images(slow)).toEqual(images(quick))
  })
})
