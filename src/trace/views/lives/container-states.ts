/**
 * The states of a pod's containers, read from its status: what each is doing, since when, and why.
 *
 * Total: what is not as Kubernetes writes it counts as absent.
 */
import { IntegralFloat, type JsonObject, type JsonValue } from "../../json/exact-json.ts"
import { memberIn, microsIn, objectsIn, textIn } from "./trace-object.ts"

/** One state of one container. */
export interface ContainerState {
  /** Different for each state in the life of a container. */
  readonly key: string
  /** `Waiting: CrashLoopBackOff`, `Running`, `Terminated: Error (1)`. */
  readonly name: string
  /** When it began by the clock of the pod's node: whole seconds, in µs since the Unix epoch. Absent: the status does not say. */
  readonly since: number | undefined
  readonly kind: "waiting" | "running" | "terminated"
  /** Whether the container has ended. */
  readonly isEnd: boolean
  readonly reason?: string | undefined
  readonly message?: string | undefined
  /** Only of a container that has ended. */
  readonly exitCode?: number | undefined
  readonly signal?: number | undefined
  /** When the run that has ended began, by the clock of the pod's node, in µs since the Unix epoch. */
  readonly startedAt?: number | undefined
}

/** A container as one status shows it. */
export interface ObservedContainer {
  /** Unique in its pod. */
  readonly name: string
  readonly kind: "container" | "init container" | "ephemeral container"
  readonly image: string | undefined
  readonly restarts: number | undefined
  readonly state: ContainerState | undefined
  /** How the run before the present one ended. */
  readonly lastState: ContainerState | undefined
}

const lists = [
  ["initContainerStatuses", "init container"],
  ["containerStatuses", "container"],
  ["ephemeralContainerStatuses", "ephemeral container"],
] as const

/** The containers of a pod whose status names them, in order. */
export const containersOf = (pod: JsonObject): ReadonlyArray<ObservedContainer> => {
  const status = memberIn(pod, "status")
  const seen = new Set<string>()
  return lists.flatMap(([member, kind]) =>
    objectsIn(status, member).flatMap((each) => {
      const name = textIn(each, "name")
      if (name === undefined || seen.has(name)) return []
      seen.add(name)
      return [
        {
          name,
          kind,
          image: textIn(each, "image"),
          restarts: integerIn(each, "restartCount"),
          state: stateIn(memberIn(each, "state")),
          lastState: terminatedIn(memberIn(memberIn(each, "lastState"), "terminated")),
        },
      ]
    }),
  )
}

const stateIn = (state: JsonValue | undefined): ContainerState | undefined => {
  const running = memberIn(state, "running")
  if (isPresent(running)) {
    const since = microsIn(running, "startedAt")
    return { key: `running ${since}`, name: "Running", since, kind: "running", isEnd: false }
  }
  const terminated = terminatedIn(memberIn(state, "terminated"))
  if (terminated !== undefined) return terminated
  const waiting = memberIn(state, "waiting")
  if (!isPresent(waiting)) return undefined
  const reason = textIn(waiting, "reason")
  const name = reason === undefined ? "Waiting" : `Waiting: ${reason}`
  const message = textIn(waiting, "message")
  return { key: name, name, since: undefined, kind: "waiting", isEnd: false, reason, message }
}

const terminatedIn = (terminated: JsonValue | undefined): ContainerState | undefined => {
  if (!isPresent(terminated)) return undefined
  const exitCode = integerIn(terminated, "exitCode")
  const reason = textIn(terminated, "reason")
  const since = microsIn(terminated, "finishedAt")
  const why = [reason, exitCode === undefined ? undefined : `(${exitCode})`].filter((part) => part !== undefined)
  return {
    key: `terminated ${since} ${textIn(terminated, "containerID")}`,
    name: why.length === 0 ? "Terminated" : `Terminated: ${why.join(" ")}`,
    since,
    kind: "terminated",
    isEnd: true,
    reason,
    message: textIn(terminated, "message"),
    exitCode,
    signal: integerIn(terminated, "signal"),
    startedAt: microsIn(terminated, "startedAt"),
  }
}

const isPresent = (value: JsonValue | undefined): boolean => value !== undefined && value !== null

const integerIn = (value: JsonValue | undefined, name: string): number | undefined => {
  const given = memberIn(value, name)
  const number = given instanceof IntegralFloat ? given.value : given
  return typeof number === "number" && Number.isSafeInteger(number) ? number : undefined
}
