/** The containers of a pod as its status has them, and what their states mean. */

import type { FindingCode } from "./finding.ts"
import { integerIn, isTrueIn, listIn, type Members, membersIn, textIn } from "./json.ts"
import { type Tone, tones } from "./tile.ts"

/** The lists of a pod's status, and what the containers in them are called. */
export const containerLists = [
  ["initContainerStatuses", "init container"],
  ["containerStatuses", "container"],
  ["ephemeralContainerStatuses", "ephemeral container"],
] as const

/** `Waiting: CrashLoopBackOff`. */
export const waitingName = (reason: string | undefined): string =>
  reason === undefined ? "Waiting" : `Waiting: ${reason}`

/** `Terminated: Error (1)`. */
export const terminatedName = (reason: string | undefined, exitCode: number | undefined): string => {
  const why = [reason, exitCode === undefined ? undefined : `(${exitCode})`].filter((part) => part !== undefined)
  return why.length === 0 ? "Terminated" : `Terminated: ${why.join(" ")}`
}

/** What is wrong while a container waits for a reason. Other reasons, such as ContainerCreating, are those of every start. */
const waitingCodes: ReadonlyMap<string, FindingCode> = new Map([
  ["CrashLoopBackOff", "crash-loop"],
  ["ImagePullBackOff", "image-not-pulled"],
  ["ErrImagePull", "image-not-pulled"],
  ["ErrImageNeverPull", "image-not-pulled"],
  ["InvalidImageName", "image-not-pulled"],
  ["ImageInspectError", "image-not-pulled"],
  ["RegistryUnavailable", "image-not-pulled"],
  ["CreateContainerConfigError", "failed-pod"],
  ["CreateContainerError", "failed-pod"],
  ["RunContainerError", "failed-pod"],
])

/** What is wrong with something. */
export interface Wrong {
  readonly code: FindingCode
  /** What Kubernetes says of it; may be empty. */
  readonly message: string
}

/** A container's present state, and how its run before ended. */
interface ContainerHealth {
  readonly kind: (typeof containerLists)[number][1]
  readonly name: string
  readonly tone: Tone
  /** `Waiting: CrashLoopBackOff`; empty: the status does not say. */
  readonly text: string
  readonly wrong: Wrong | undefined
  readonly restarts: number
  /** How its run before this one failed; `undefined`: it did not, or there was none. */
  readonly failedBefore: Wrong | undefined
}

const OUT_OF_MEMORY = "OOMKilled"

/** Those that the status of a pod names, each once. */
export const containersIn = (status: Members | undefined): ReadonlyArray<ContainerHealth> => {
  const containers: ContainerHealth[] = []
  const seen = new Set<string>()
  for (const [member, kind] of containerLists)
    for (const each of listIn(status, member)) {
      const name = textIn(each, "name")
      if (name === undefined || seen.has(name)) continue
      seen.add(name)
      containers.push(containerHealth(kind, name, each))
    }
  return containers
}

const containerHealth = (kind: ContainerHealth["kind"], name: string, status: Members): ContainerHealth => {
  const restarts = integerIn(status, "restartCount") ?? 0
  const before = membersIn(membersIn(status, "lastState"), "terminated")
  const failedBefore = before === undefined ? undefined : failureOf(name, before, "crash-loop")
  const facts = { kind, name, restarts, failedBefore }
  const state = membersIn(status, "state")
  if (membersIn(state, "running") !== undefined) {
    const isUp = isTrueIn(status, "ready") || kind !== "container"
    return { ...facts, tone: isUp ? tones.good : tones.waiting, text: "Running", wrong: undefined }
  }
  const terminated = membersIn(state, "terminated")
  if (terminated !== undefined) {
    const wrong = failureOf(name, terminated, restarts > 0 ? "crash-loop" : "failed-pod")
    const text = terminatedName(textIn(terminated, "reason"), integerIn(terminated, "exitCode"))
    return { ...facts, tone: wrong === undefined ? tones.over : tones.bad, text, wrong }
  }
  const waiting = membersIn(state, "waiting")
  const reason = textIn(waiting, "reason")
  const text = waiting === undefined ? "" : waitingName(reason)
  const code = waitingCodes.get(reason ?? "")
  if (code === undefined) return { ...facts, tone: tones.waiting, text, wrong: undefined }
  const message = `${name}: ${textIn(waiting, "message") ?? reason}`
  const isMemory = code === "crash-loop" && failedBefore?.code === "out-of-memory"
  return { ...facts, tone: tones.bad, text, wrong: isMemory ? failedBefore : { code, message } }
}

/** `undefined`: it ended well. */
const failureOf = (name: string, terminated: Members, code: FindingCode): Wrong | undefined => {
  const [reason, exitCode] = [textIn(terminated, "reason"), integerIn(terminated, "exitCode")]
  if (reason === OUT_OF_MEMORY)
    return { code: "out-of-memory", message: `${name}: ${terminatedName(reason, exitCode)}` }
  if ((exitCode ?? 0) === 0) return undefined
  const message = textIn(terminated, "message")
  const text = terminatedName(reason, exitCode)
  return { code, message: `${name}: ${message === undefined ? text : `${text}: ${message}`}` }
}
