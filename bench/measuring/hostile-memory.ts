/**
 * Part of scenario *hostile*: the memory of a recorder of 20 kinds whose API server sends each of them what no API server should.
 *
 * The figure is the largest resident memory from the start of the process on, because a server can be hostile at any time.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { gvkOf } from "../load/bench-kinds.ts"
import { BenchCluster } from "../load/generator-process.ts"
import type { Hostility } from "../load/hostile-answers.ts"
import { generatorOptionsOf, kindsOf } from "../load/workload.ts"
import { readMemory } from "../processes/process-watch.ts"
import type { ScenarioSettings } from "../scenario.ts"
import { startRecorder } from "../subjects/recorder-subject.ts"

export const hostileKinds = 20
/** s of hostility. Attempts are repeated with a back-off meanwhile. */
export const hostileSeconds = { full: 15, quick: 3 } as const
/** Few objects: it is not about their number. */
const objects = 10

/** Largest resident memory, bytes; `hostility` undefined: of a server that is not hostile. */
export const memoryUnder = async (
  hostility: Hostility | undefined,
  { isQuick, profileDirectory }: Pick<ScenarioSettings, "isQuick" | "profileDirectory">,
): Promise<number> => {
  const workload = { kinds: hostileKinds, objects, pods: objects }
  const options = { ...generatorOptionsOf(workload), ...(hostility !== undefined && { hostility }) }
  await using cluster = await BenchCluster.start(options)
  await using subject = await startRecorder(cluster, { kinds: kindsOf(workload).map(gvkOf), profileDirectory })
  await cluster.during(sleep(1000 * (isQuick ? hostileSeconds.quick : hostileSeconds.full)))
  return readMemory(subject.pid).peak
}
