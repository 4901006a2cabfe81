/**
 * A real API server that stands still for two seconds, and one that is killed and started again, in the middle of a replay: the replay
 * finishes, and the cluster has the trace's state.
 *
 * Needs to control the API server's process, so it is skipped for a cluster that test/cluster/control-plane/up did not start.
 */
import { execFile } from "node:child_process"
import { existsSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { afterAll, beforeAll, expect, test } from "vitest"
import { type OpenTarget, openTarget } from "../../../src/cli/replay/replay-target.ts"
import { systemClock } from "../../../src/clock.ts"
import type { ApiObject } from "../../../src/kube/index.ts"
import { cleanUp } from "../../../src/simulation/index.ts"
import type { TraceItem } from "../../../src/trace/index.ts"
import { differences, stateAt } from "../../simulation/trace-state.ts"
import { openTestCluster, type TestCluster } from "../guard.ts"
import { itemsOf, ndjson, replay, state } from "./recorded-trace.ts"

const id = String(process.pid)
const replays: string[] = []

let cluster: TestCluster
let target: OpenTarget
beforeAll(async () => {
  cluster = await openTestCluster()
  target = await openTarget({ kubeconfig: cluster.kubeconfig, context: undefined, concurrency: 16 })
})
afterAll(async () => {
  await Promise.all(replays.map(remove))
  await target?.[Symbol.asyncDispose]()
})

const remove = async (name: string): Promise<void> => {
  await cleanUp({ client: target.client, clock: systemClock, replay: name, signal: new AbortController().signal })
}

const namespace = `restart-${id}`
const configMap = (index: number, value: number): ApiObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { namespace, name: `settings-${index}` },
  data: { value: String(value) },
})
const deployment = (replicas: number): ApiObject => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { namespace, name: "web" },
  spec: {
    replicas,
    selector: { matchLabels: { app: "web" } },
    template: { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "web", image: "web" }] } },
  },
})

/** Five seconds: a change of a ConfigMap every 25 ms, some of them deletions; a Deployment that is scaled every half second. */
const trace = (): Uint8Array => {
  const changes = Array.from({ length: 200 }, (_, change) => {
    const second = 0.1 + change * 0.025
    if (change % 20 === 10) return state(deployment(1 + (change % 3)), second)
    return state(configMap(change % 30, change), second, change % 7 === 6 ? "deleted" : "applied")
  })
  return ndjson([deployment(1), ...Array.from({ length: 30 }, (_, index) => configMap(index, -1))], changes)
}

/** The process that the control plane's script started, and its directory. */
interface ApiServer {
  readonly pid: number
  readonly directory: string
}

const findApiServer = (kubeconfig: string): ApiServer | undefined => {
  const directory = dirname(kubeconfig)
  const pids = join(directory, "pids")
  if (!existsSync(pids)) return undefined
  for (const pid of readFileSync(pids, "utf8").split("\n").filter(Boolean)) {
    const command = existsSync(`/proc/${pid}/cmdline`) ? readFileSync(`/proc/${pid}/cmdline`, "utf8") : ""
    if (command.split("\0")[1] === "apiserver") return { pid: Number(pid), directory }
  }
  return undefined
}

const replayDuring = async (name: string, sabotage: () => Promise<void>) => {
  replays.push(name)
  const items: TraceItem[] = []
  const bytes = trace()
  for await (const chunk of itemsOf([bytes]))
    for (const item of chunk)
      items.push(
        item.type === "event" && item.event.type === "object"
          ? { ...item, event: { ...item.event, object: Uint8Array.from(item.event.object) } }
          : item,
      )
  let sabotaged: Promise<void> | undefined
  const report = await replay(target.client, name, itemsOf([bytes]), {
    speed: 1,
    onLag: "slow",
    onProgress: ({ phase, accepted }) => {
      if (phase === "replaying" && accepted > 50) sabotaged ??= sabotage()
    },
  })
  await sabotaged
  expect(report).toMatchObject({ stopped: null, refused: [] })
  expect(await differences(target.client, stateAt(items), new Set(["v1.ConfigMap", "apps/v1.Deployment"]))).toEqual([])
  // The next one writes into the same namespace.
  await remove(name)
  return report
}

test("a replay outlasts an API server that stands still for two seconds", async ({ skip }) => {
  const server = findApiServer(cluster.kubeconfig) ?? skip("its process is not ours to stop")
  const report = await replayDuring(`stalled-${id}`, async () => {
    process.kill(server.pid, "SIGSTOP")
    await sleep(2000)
    process.kill(server.pid, "SIGCONT")
  })
  expect(report.lagMs.max).toBeGreaterThan(1900)
})

test("a replay outlasts an API server that is killed and started again", async ({ skip }) => {
  const server = findApiServer(cluster.kubeconfig) ?? skip("its process is not ours to restart")
  const report = await replayDuring(`restarted-${id}`, () => restart(server))
  expect(report.lagMs.max).toBeGreaterThan(500)
})

/** Resolves when it is ready again. */
const restart = async ({ directory }: ApiServer): Promise<void> => {
  const script = fileURLToPath(new URL("../control-plane/restart-apiserver", import.meta.url))
  await promisify(execFile)(script, { env: { ...process.env, STATE: directory } })
}
