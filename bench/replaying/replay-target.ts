/**
 * The clusters that scenario *replay* writes to: the sandbox in another process, and a real control plane if `KUBEREEL_TEST_KUBECONFIG`
 * names one.
 */
import { createReadStream, existsSync } from "node:fs"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { createInterface } from "node:readline"
import { writeKubeconfig } from "../../src/sandbox/index.ts"
import { openTestCluster } from "../../test/cluster/guard.ts"
import { deployments } from "../load/bench-kinds.ts"
import type { ReceivedWrite } from "../serving/sandbox-process.ts"
import { BenchServer } from "../serving/sandbox-server.ts"

export interface ReplayTarget extends AsyncDisposable {
  readonly name: "sandbox" | "control plane"
  readonly kubeconfig: string
  readonly isReal: boolean
  /** The names of the replays into it so far, which are left in it. */
  readonly replays: Array<string>
  /** The applies of Deployments in a namespace as the server saw them, in the order of reception; `undefined` if it does not tell. */
  readonly received: (namespace: string) => Promise<ReadonlyArray<ReceivedWrite> | undefined>
}

/** The API server alone, with namespace controller and garbage collector: there are no Pods. */
export const startSandbox = async (): Promise<ReplayTarget> => {
  const directory = await mkdtemp(join(tmpdir(), "kubereel-bench-replay-"))
  const options = { server: "sandbox", lifecycle: true, requestLogLimit: 200_000 } as const
  const server = await BenchServer.start(options)
  const kubeconfig = join(directory, "kubeconfig")
  await writeKubeconfig(kubeconfig, `http://127.0.0.1:${server.port}`)
  return {
    name: "sandbox",
    kubeconfig,
    isReal: false,
    replays: [],
    received: (namespace) => server.writes(deployments.plural, namespace),
    [Symbol.asyncDispose]: async () => {
      await server[Symbol.asyncDispose]()
      await rm(directory, { recursive: true, force: true })
    },
  }
}

/** `undefined` if none is named. Rejects if the named cluster is not for tests. */
export const openControlPlane = async (): Promise<ReplayTarget | undefined> => {
  if ((process.env.KUBEREEL_TEST_KUBECONFIG ?? "") === "") return undefined
  const { kubeconfig } = await openTestCluster()
  // test/cluster/control-plane/up writes it with AUDIT=1.
  const auditLog = join(dirname(kubeconfig), "audit.log")
  return {
    name: "control plane",
    kubeconfig,
    isReal: true,
    replays: [],
    received: async (namespace) => (existsSync(auditLog) ? await auditedWrites(auditLog, namespace) : undefined),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  }
}

/** A line of a Kubernetes audit log. */
interface AuditEvent {
  readonly stage: string
  readonly verb: string
  readonly objectRef?: { readonly resource?: string; readonly namespace?: string; readonly name?: string }
  /** With microseconds. */
  readonly requestReceivedTimestamp: string
}

const auditedWrites = async (file: string, namespace: string): Promise<ReadonlyArray<ReceivedWrite>> => {
  const found: Array<ReceivedWrite> = []
  for await (const line of createInterface(createReadStream(file))) {
    if (!line.includes(`"namespace":"${namespace}"`) || !line.includes('"verb":"patch"')) continue
    const { stage, objectRef, requestReceivedTimestamp } = JSON.parse(line) as AuditEvent
    // The stage RequestReceived has no line of its own in every policy.
    if (stage === "ResponseComplete" && objectRef?.resource === deployments.plural)
      found.push([objectRef.name ?? "", microsOf(requestReceivedTimestamp)])
  }
  return found.toSorted(([, left], [, right]) => left - right)
}

/** µs since the Unix epoch; Date knows ms only. */
const microsOf = (timestamp: string): number => {
  const fraction = /\.(\d{1,6})/.exec(timestamp)?.[1] ?? ""
  return Date.parse(timestamp.replace(/\.\d+/, "")) * 1000 + Number(fraction.padEnd(6, "0"))
}
