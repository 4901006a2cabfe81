/** Measures how fast a bare client makes the writes of a workload: see bare-client-process.ts. */
import { createWriteStream } from "node:fs"
import { rm } from "node:fs/promises"
import { join } from "node:path"
import { Readable } from "node:stream"
import { pipeline } from "node:stream/promises"
import { fileURLToPath } from "node:url"
import { ApiClient, type ApiObject, kinds, loadCredentials, objectPath } from "../../src/kube/index.ts"
import { replayLabel } from "../../src/simulation/objects/target-object.ts"
import { ChangesToWrites } from "../../src/simulation/replay/changes-to-writes.ts"
import { fieldManager } from "../../src/simulation/target/target-cluster.ts"
import { fieldOf, LineProcess } from "../processes/line-process.ts"
import type { PreparedWrite } from "./bare-client-process.ts"
import { replayName } from "./replay-run.ts"
import type { ReplayTarget } from "./replay-target.ts"
import { namespace, type ReplayWorkload, statesOf } from "./replay-workload.ts"

const script = fileURLToPath(new URL("./bare-client-process.ts", import.meta.url))
const startMs = 30_000
const patienceMs = 120_000

export interface BareOptions {
  readonly target: ReplayTarget
  /** Part of the name, as of a replay: what is written has its label, so that it can be removed in the same way. */
  readonly name: string
  readonly workload: ReplayWorkload
  readonly connections: number
  readonly directory: string
}

/** Writes a second for the same bodies that a replay would send. */
export const measureBareClient = async (options: BareOptions): Promise<number> => {
  const { target, connections, directory } = options
  const name = replayName(target, `${options.name}-bare`)
  const file = join(directory, `${name}.writes`)
  let count = 0
  const lines = function* (writes: Iterable<PreparedWrite>): Generator<string, void> {
    for (const write of writes) {
      count++
      yield `${JSON.stringify(write)}\n`
    }
  }
  await pipeline(
    Readable.from(lines(preparedWrites(options.workload, name, await createNamespace(target, name)))),
    createWriteStream(file),
  )
  await using child = new LineProcess({
    script: [script, target.kubeconfig, file, String(connections)],
    endsBy: "input",
  })
  await child.hear("the connections", startMs, fieldOf<boolean>("ready"))
  const seconds = child.hear("the writes", patienceMs, fieldOf<number>("seconds"))
  child.tell({})
  const rate = count / (await seconds)
  await rm(file)
  return rate
}

/** The namespace, which also owns the objects. Returns its UID. */
const createNamespace = async (target: ReplayTarget, name: string): Promise<string> => {
  const server = await loadCredentials({ kubeconfig: target.kubeconfig, context: undefined })
  const client = new ApiClient({ server, userAgent: "bench" })
  try {
    const metadata = { name: `${name}-${namespace}`, labels: { [replayLabel]: name } }
    const created = await client.create<ApiObject>(kinds.namespaces, { apiVersion: "v1", kind: "Namespace", metadata })
    return created.metadata.uid ?? ""
  } finally {
    client.close()
  }
}

function* preparedWrites(workload: ReplayWorkload, name: string, uid: string): Generator<PreparedWrite, void> {
  const root = { apiVersion: "v1", kind: "Namespace", name: `${name}-${namespace}`, uid }
  const placement = { nodeSelector: { type: "virtual" }, taintKey: "kwok-provider" }
  const planner = new ChangesToWrites({ replay: name, namespacePrefix: name, placement, root }, new Set())
  for (const change of statesOf(workload)) {
    const planned = planner.plan(change)
    if (planned.tag !== "apply") continue
    const path = objectPath(kinds.deployments, planned.place.namespace, planned.place.name)
    yield { path: `${path}?fieldManager=${fieldManager}&force=true`, body: planned.body() }
  }
}
