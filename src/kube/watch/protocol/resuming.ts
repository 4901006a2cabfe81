/**
 * The steps that lead to a watch or a list: find the kind, check that the server is the recorded one, then resume where the recording ends,
 * or list. Every wait leads back here.
 */
import type { ApiStatus } from "../../status.ts"
import { list, openList, restored } from "./listing.ts"
import { classify, type Transition } from "./transition.ts"
import { fallBehind, openWatch } from "./watching.ts"

/** Looks for the kind. */
export const discover = (step: Transition): void => {
  step.phase = { tag: "discovering" }
  step.commands.push({ type: "discover" })
}

/**
 * Keeps the cluster's UID if none was known: otherwise a recording would learn it only from its first probe, possibly too late to
 * distinguish another cluster from this one. The probe decides about a UID that differs.
 */
export const discovered = (step: Transition, clusterUid: string | undefined): void => {
  if (step.memory.clusterUid === undefined) identify(step, clusterUid)
  begin(step)
}

const identify = (step: Transition, clusterUid: string | undefined): void => {
  if (clusterUid === undefined || clusterUid === step.memory.clusterUid) return
  step.remember({ clusterUid })
  step.commands.push({ type: "cluster-identified", uid: clusterUid })
}

/** The kind exists: resume where the recording ends, or list. */
export const begin = (step: Transition): void => resume(step, step.memory.suspicious || step.moment.isStale)

/** `isDoubtful`: the server has to be asked for its version before a watch. */
const resume = (step: Transition, isDoubtful: boolean): void => {
  // A started list stays due, with its reason, even if the kind was uninstalled meanwhile.
  if (step.memory.listPending) return openList(step)
  const { delivered } = step.moment
  if (delivered === undefined) return list(step, "first")
  // Rule 12: a version from disk, or one that a restarted server may have lost, can be ahead of the server, which would then return 200 and
  // send nothing for ever.
  // Rule 14: and up to the server's present version, changes are late.
  if (isDoubtful) return probe(step)
  openWatch(step, delivered)
}

const probe = (step: Transition): void => {
  step.phase = { tag: "probing" }
  if (step.memory.tellsCatchUp && step.memory.reported === "watching")
    step.report("catching-up", "the stream was interrupted; asking the server for its version")
  step.commands.push({ type: "probe" })
}

/** The server has returned its current version: it must not be behind the recording, and the cluster must be the same (rule 12). */
export const probed = (step: Transition, version: string, clusterUid: string | undefined): void => {
  step.remember({ suspicious: false })
  const known = step.memory.clusterUid
  identify(step, clusterUid)
  if (known !== undefined && clusterUid !== undefined && known !== clusterUid) {
    const change = `namespace kube-system now has UID ${clusterUid} instead of ${known}`
    return restored(step, `${change}: this is a different cluster, or it was rebuilt`)
  }
  if (step.isBehind(version)) return restored(step, step.behind(version))
  fallBehind(step, version)
  resume(step, false)
}

/** The server's version is unknown: probes again, never resumes without knowing it. */
export const probeFailed = (step: Transition, status: ApiStatus): void => {
  if (classify(status) === "not-found") return absent(step)
  step.fail(status, "probe", "list")
}

/** The kind is not installed: a state that can change, never an end (rule 10). */
export const absent = (step: Transition): void => {
  step.phase = { tag: "absent" }
  step.report("waiting", "the kind is not installed; checking for it regularly")
  const { hurriedLooks } = step.memory
  if (hurriedLooks > 0) step.remember({ hurriedLooks: hurriedLooks - 1 })
  const ms = hurriedLooks > 0 ? step.policy.expectedPollMs : step.policy.absentPollMs
  step.commands.push({ type: "retry-after", ms: ms * (1 + 0.2 * step.moment.random()) })
}

/** Closes every stream; no later input has any effect. */
export const stop = (step: Transition): void => {
  step.closeAll()
  step.phase = { tag: "stopped" }
  step.report("stopped", "asked to")
}

/** The wait is over. */
export const retry = (step: Transition): void => {
  const phase = step.phase
  if (phase.tag === "absent") return discover(step)
  if (phase.tag !== "backing-off") return
  switch (phase.then) {
    case "discover":
      return discover(step)
    case "probe":
      return probe(step)
    case "list":
      // Not `list`: a list that was put off or failed is still the same relist, and is not counted again.
      return openList(step)
    case "watch":
      return begin(step)
  }
}
