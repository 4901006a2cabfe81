/**
 * Keeps one pod for each SimplePod: creates it, replaces it when the image or the arguments change, and reports in the status whether it is ready.
 * The pod goes with its SimplePod: the garbage collector deletes what an owner leaves behind.
 */
import { isDeepStrictEqual } from "node:util"
import { defineController, type Pod, setCondition, setControllerReference } from "kubereel/host"
import type { SimplePod } from "./simplepod-types.ts"

const podFor = ({ metadata, spec }: SimplePod) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: metadata.name, namespace: metadata.namespace, labels: { "slinky.dev/simplepod": metadata.name } },
  spec: { containers: [{ name: "main", image: spec.image, ...(spec.args && { args: spec.args }) }] },
})

export const simplePods = defineController<SimplePod>({
  name: "simplepod",
  for: "slinky.dev/v1.SimplePod",
  owns: ["v1.Pod"],
  writes: [{ kind: "v1.Pod", verbs: ["create", "patch", "delete"] }, "slinky.dev/v1.SimplePod/status"],
  reconcile: async ({ object, cluster }) => {
    // Gone: its pod goes by itself.
    if (object === undefined || object.metadata.deletionTimestamp !== undefined) return
    const wanted = podFor(object)
    const known = cluster.cached<Pod>("v1.Pod").ownedBy(object)[0]
    const [container] = known?.spec.containers ?? []
    const isCurrent = container?.image === object.spec.image && isDeepStrictEqual(container.args, object.spec.args)
    if (known !== undefined && !isCurrent) {
      if (known.metadata.deletionTimestamp === undefined) {
        await cluster.delete(known)
        cluster.event(object, "Normal", "PodReplaced", `Deleted pod ${known.metadata.name}: the spec has changed`)
      }
      // Its end wakes us again, and then there is room for the new one.
      if (cluster.cached<Pod>("v1.Pod").ownedBy(object).length > 0) return
    }
    const pod =
      isCurrent && known !== undefined ? known : await cluster.apply<Pod>(setControllerReference(object, wanted))
    const isReady = pod.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") === true
    const phase = pod.status?.phase ?? "Pending"
    const conditions = setCondition(
      object.status?.conditions,
      {
        type: "Ready",
        status: isReady ? "True" : "False",
        reason: isReady ? "PodReady" : "PodNotReady",
        message: `pod ${pod.metadata.name} is ${phase}`,
        observedGeneration: object.metadata.generation,
      },
      cluster.now(),
    )
    await cluster.patchStatus(object, { phase, conditions })
  },
})
