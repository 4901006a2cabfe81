/** Events over HTTP against the sandbox. */

import { expect, test } from "vitest"
import { Cluster } from "../../../../src/host/cluster.ts"
import { EventRecorder } from "../../../../src/host/controller/access/event-recorder.ts"
import { ApiClient, type ApiObject } from "../../../../src/kube/index.ts"
import { Sandbox } from "../../../../src/sandbox/index.ts"
import { ManualClock } from "../../../runtime/manual-clock.ts"

const podIn = (namespace: string, name: string): ApiObject => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, namespace, uid: "1" },
})

test("An Event of a namespace that is ending, or has ended before it was sent, is dropped without trouble; another refused one is trouble", async () => {
  const clock = new ManualClock()
  await using sandbox = await Sandbox.start({ clock, bookmarkInterval: 0 })
  const troubles: string[] = []
  const api = new ApiClient({ server: sandbox.endpoint, userAgent: "test" })
  const cluster = new Cluster({ api, clock, random: () => 0, onTrouble: (detail) => troubles.push(detail) })
  const events = new EventRecorder(cluster)
  const record = async (namespace: string, name = "web"): Promise<void> => {
    const object = podIn(namespace, name)
    events.record(
      { component: "kubelet" },
      { object, type: "Normal", reason: "Killing", message: "Stopping container" },
    )
    await events.drained()
  }
  sandbox.put("v1.Namespace", {
    metadata: { name: "ending", deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: ["example.com/wait"] },
    status: { phase: "Terminating" },
  })
  await record("ending")
  await record("ended")
  expect(troubles).toEqual([])
  await record("default", "not_a_name")
  expect(troubles).toEqual([
    expect.stringMatching(/^event Killing not recorded: .*create v1.Event default\/not_a_name/),
  ])
  cluster.close()
})
