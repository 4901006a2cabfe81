/** The interface of a script thread: a thread that runs the controllers of several scripts. */
import * as Schema from "effect/Schema"
import type { ActorDefinition } from "../../../runtime/index.ts"
import type { AdmissionCall, AdmissionTerms } from "../../admission/registration.ts"
import type { ReviewRequest } from "../../admission/review-server.ts"
import type { ControllerStatistics } from "../../controller/run/controller-statistics.ts"
import type { HubWatchRequest } from "../../dispatcher/watch-registry.ts"
import { PassedEndpoint } from "../../executor/given-credentials.ts"
import { ScriptRefused } from "./load-script.ts"

export interface ScriptThreadConfig {
  /** Of `entryMarkBytes`: shows the main thread that this one is busy, and still alive. */
  readonly entryMark: SharedArrayBuffer
  /** Of former threads of the name: this one's subscriptions have other numbers. */
  readonly lastSubscription: number
}

/** A script to run. */
const Assignment = Schema.Struct({
  module: Schema.String,
  codePath: Schema.String,
  /** Of the code: a replaced file is loaded anew. */
  codeHash: Schema.String,
  env: Schema.Array(Schema.Struct({ name: Schema.String, value: Schema.String })),
  /** All its controllers keep a checkpoint. */
  hasCheckpoint: Schema.Boolean,
  /** For checkpoints; without it, controllers that keep one are refused. */
  stateDirectory: Schema.optional(Schema.String),
  /** Whether the host serves webhooks; without, controllers that have any are refused. */
  hasWebhooks: Schema.Boolean,
  /** With the module's own credentials. */
  endpoint: PassedEndpoint,
})
export type ScriptAssignment = typeof Assignment.Type

/** As the controllers count them. */
const Controllers = Schema.declare((_: unknown): _ is ReadonlyArray<ControllerStatistics> => true)

const Terms = Schema.declare((_: unknown): _ is ReadonlyArray<AdmissionTerms> => true)
export type ReviewCall = { module: string; controller: string; call: AdmissionCall; request: ReviewRequest }
const Review = Schema.declare((_: unknown): _ is ReviewCall => true)
const Reply = Schema.declare((_: unknown): _ is { response: object } | { problem: string } => true)

const scriptThreadControl = {
  /** Loads a script and starts its controllers. Returns the webhooks that they need. */
  start: { payload: Assignment, success: Terms, error: ScriptRefused },
  /** Answers a review of the API server with a function of a controller. */
  review: { payload: Review, success: Reply, error: Schema.Never },
  /** Lets the script's current runs end; without effect if it is not there. */
  stop: { payload: Schema.String, success: Schema.Void, error: Schema.Never },
  /** What its requests use from now on; those that were refused with the former ones are sent once more. Without effect for unknown modules. */
  credentials: {
    payload: Schema.Struct({ module: Schema.String, endpoint: PassedEndpoint }),
    success: Schema.Void,
    error: Schema.Never,
  },
  /** To `ask`: the script may have the selection if `refusal` is empty. A later refusal takes the right away. */
  settle: {
    payload: Schema.Struct({ question: Schema.Number, refusal: Schema.String }),
    success: Schema.Void,
    error: Schema.Never,
  },
  /** Nothing more comes for a subscription: subscribe anew. `reason`, for people, is empty if the hub was started again. */
  endWatch: {
    payload: Schema.Struct({ subscription: Schema.Number, reason: Schema.String }),
    success: Schema.Void,
    error: Schema.Never,
  },
  /** Completes when the thread comes to it. */
  ping: { payload: Schema.Void, success: Schema.Void, error: Schema.Never },
  statistics: {
    payload: Schema.Void,
    success: Schema.Array(Schema.Struct({ module: Schema.String, controllers: Controllers })),
    error: Schema.Never,
  },
} as const
export type ScriptThreadControl = typeof scriptThreadControl

/** What a script thread reports to the main thread; all rare. */
export type ScriptThreadReport =
  /** A script wants a selection: may it have it? Answered with `settle`, and again whenever that changes. */
  | {
      readonly type: "ask"
      readonly module: string
      readonly question: number
      readonly request: HubWatchRequest
    }
  /** The answer is of no interest any more. */
  | { readonly type: "withdrawn"; readonly question: number }
  /** The thread wants a subscription, for scripts that may have it. */
  | { readonly type: "watch"; readonly subscription: number; readonly request: HubWatchRequest }
  | { readonly type: "unwatched"; readonly subscription: number }
  /** The server refuses the module's credentials. Its requests wait for the call `credentials`. */
  | { readonly type: "unauthorized"; readonly module: string }
  /** Something that an operator should see; `module` is empty if it concerns no single one. */
  | { readonly type: "trouble"; readonly module: string; readonly detail: string }
  /** So many rows of a subscription have not arrived, which is a bug of the host. The thread subscribes anew. */
  | { readonly type: "missed"; readonly rows: number }

export const scriptThreadDefinition: ActorDefinition<ScriptThreadConfig, ScriptThreadControl, ScriptThreadReport> = {
  role: "script-thread",
  control: scriptThreadControl,
}
