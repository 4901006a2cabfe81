/** The two threads on which all modules of a host depend. One that crashes is started again. */
import type { EndpointSource } from "../kube/index.ts"
import type { ActorState, ActorSystem, RestartPolicy, StartThread } from "../runtime/index.ts"
import { tell } from "./dispatcher/actor-calls.ts"
import {
  type Executor,
  type ExecutorReport,
  executorDefinition,
  executorName,
  type Registration,
} from "./executor/executor-interface.ts"
import { type Hub, hubDefinition } from "./hub/hub-interface.ts"
import { PassedCredentials } from "./identity/passed-credentials.ts"

interface ThreadOptions {
  readonly system: ActorSystem
  readonly start: StartThread
  readonly restart: RestartPolicy
  readonly onNote: (subject: string, note: string) => void
}

interface HubOptions extends ThreadOptions {
  /** The host's own credentials. */
  readonly endpoints: EndpointSource
  readonly version: string
  /** A life runs that is not the first: the watches of the former one have ended. */
  readonly restarted: () => void
}

export const startHub = ({ system, start, restart, onNote, endpoints, version, restarted }: HubOptions) => {
  const credentials = new PassedCredentials(
    endpoints,
    (endpoint) => tell(hub.call("credentials", endpoint)),
    (reason) => onNote("credentials", reason),
  )
  let life = 0
  const hub: Hub = system.spawn({
    definition: hubDefinition,
    name: "hub",
    start,
    restart,
    config: async () => {
      await credentials.fetch()
      return { endpoint: credentials.begins(), userAgent: `kubereel/${version}` }
    },
    incarnation: () => ++life,
    onReport: (report) => {
      if (report.type === "unauthorized") credentials.refresh()
      else if (report.type === "alarm") onNote("hub", report.detail)
      else if (report.state === "forbidden" || report.state === "failing")
        onNote("hub", `${report.selection} is ${report.state}: ${report.detail}`)
    },
    onStateChange: (state, reason) => {
      noteEnd("hub", state, reason, onNote)
      if (state !== "running") return
      credentials.runs()
      if (life > 1) restarted()
    },
  })
  return { hub, credentials }
}

interface ExecutorOptions extends ThreadOptions {
  /** The modules that a life begins with. */
  readonly modules: () => ReadonlyArray<Registration>
  /** A life runs. */
  readonly runs: () => void
  readonly onReport: (report: ExecutorReport) => void
}

export const startExecutor = ({ system, onNote, modules, runs, ...thread }: ExecutorOptions): Executor => {
  let life = 0
  return system.spawn({
    ...thread,
    definition: executorDefinition,
    name: executorName,
    config: () => ({ modules: modules() }),
    incarnation: () => ++life,
    onStateChange: (state, reason) => {
      noteEnd("executor", state, reason, onNote)
      if (state === "running") runs()
    },
  })
}

const noteEnd = (subject: string, state: ActorState, reason: string, onNote: ThreadOptions["onNote"]): void => {
  if (state === "backing-off") onNote(subject, `it has ended and is started again: ${reason}`)
  if (state === "gave-up") onNote(subject, `it cannot be started: ${reason}`)
}
