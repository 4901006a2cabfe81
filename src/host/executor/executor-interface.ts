/**
 * The executor's interface. It receives `operations` from module workers and sends each of them `completions of WORKER`.
 *
 * A module has to be registered before it starts. A new life of the executor knows the modules of its configuration and nothing of the
 * operations of the former one: the workers name what they wait for (`OperationSender`).
 */
import * as Schema from "effect/Schema"
import type { ActorDefinition, Supervisor } from "../../runtime/index.ts"
import { PassedEndpoint } from "./given-credentials.ts"
import type { RequestStatistics } from "./request-executor.ts"

export const executorName = "executor"

/** Module worker → executor: frames of `Operations`. */
export const operationsMailbox = "operations"

/** Executor → the named module worker: frames of `Completion`s. One mailbox each, since an outbox has one receiver; link it `upstream`. */
export const completionsMailbox = (worker: string): string => `completions of ${worker}`

/** Those of `ModuleLimits` that a module's file can set; the defaults apply to what is absent. */
const Limits = Schema.Struct({
  requestsPerSecond: Schema.optionalKey(Schema.Number),
  burst: Schema.optionalKey(Schema.Number),
  maximumConcurrent: Schema.optionalKey(Schema.Number),
  timeoutMs: Schema.optionalKey(Schema.Number),
})

const Registration = Schema.Struct({
  module: Schema.String,
  /** With the module's own credentials. */
  endpoint: PassedEndpoint,
  /** `NAME/VERSION`; the API server derives the default field manager from the part before the slash. Fixed until the module is removed. */
  userAgent: Schema.String,
  limits: Limits,
})
export type Registration = typeof Registration.Type

export interface ExecutorConfig {
  /** All modules that are registered when this life begins, with their current credentials. */
  readonly modules: ReadonlyArray<Registration>
}

export type ExecutorReport =
  /** The server refuses the module's credentials. Its requests wait for the call `credentials`, at most for their time limit. */
  | { readonly type: "unauthorized"; readonly module: string }
  /** That life of the module has more operations under way than it may; the last one was dropped, so it has to be ended. */
  | {
      readonly type: "overrun"
      readonly module: string
      readonly incarnation: number
      readonly maximumOperations: number
    }

const ModuleStatistics = Schema.declare((_: unknown): _ is RequestStatistics & { readonly module: string } => true)

const executorControl = {
  /** Registers a module. */
  register: { payload: Registration, success: Schema.Void, error: Schema.Never },
  /** New credentials of a module; requests that were refused with the former ones are sent once more. Without effect for unknown modules. */
  credentials: {
    payload: Schema.Struct({ module: Schema.String, endpoint: PassedEndpoint }),
    success: Schema.Void,
    error: Schema.Never,
  },
  /** Gives up everything of a module, closes its connections and forgets it. */
  remove: { payload: Schema.String, success: Schema.Void, error: Schema.Never },
  /** That worker has ended and will not come back: what would be answered to it is given up, and its mailboxes are closed. */
  forgetWorker: { payload: Schema.String, success: Schema.Void, error: Schema.Never },
  /** Of all registered modules, since each was registered in this life. */
  statistics: { payload: Schema.Void, success: Schema.Array(ModuleStatistics), error: Schema.Never },
} as const

export type ExecutorControl = typeof executorControl
export type Executor = Supervisor<ExecutorConfig, ExecutorControl, ExecutorReport>

export const executorDefinition: ActorDefinition<ExecutorConfig, ExecutorControl, ExecutorReport> = {
  role: "executor",
  control: executorControl,
}
