/** What a host of modules is given, and how long it waits. */
import type { Clock } from "../clock.ts"
import type { EndpointSource } from "../kube/index.ts"
import type { BackOffPolicy, RestartPolicy, StartThread } from "../runtime/index.ts"
import type { AdmissionTerms } from "./admission/registration.ts"
import { moduleBackOff } from "./dispatcher/module-lifecycle.ts"
import type { WatchAnswer } from "./dispatcher/watch-registry.ts"
import type { WatchRequest } from "./guest/abi-values.ts"
import type { ServiceAccountName } from "./identity/service-account.ts"
import type { ModuleFile } from "./modules/module-file.ts"
import type { HostRole } from "./worker-entries.ts"

export interface ModuleHostOptions {
  /** Threads that WebAssembly modules share; those that overran their deadline have one each beside them. */
  readonly workers: number
  readonly clock: Clock
  /** Returns a number in [0, 1). */
  readonly random: () => number
  /** The host's own credentials. */
  readonly endpoints: EndpointSource
  /** Those of a module. */
  readonly identityOf: (file: ModuleFile) => EndpointSource
  /**
   * Whether a ServiceAccount may have a watch: `WatchAccess.check`. Never rejects. Not asked for modules without a ServiceAccount of their own,
   * which act as the host.
   */
  readonly checkWatch: (account: ServiceAccountName, request: WatchRequest) => Promise<WatchAnswer>
  /** Where modules that ask for a checkpoint keep it; they are refused without it. For one host at a time. */
  readonly stateDirectory?: string | undefined
  /** Registers the webhooks of scripts' controllers. Absent: scripts that have any are refused. */
  readonly webhooks?: { set(module: string, terms: ReadonlyArray<AdmissionTerms>): void } | undefined
  /** Absent members have the defaults of {@link defaultHostPolicy}. */
  readonly policy?: Partial<HostPolicy>
  /** `kubereel/<version>`. */
  readonly version: string
  readonly start: (role: HostRole) => StartThread
  readonly onLog: (module: string, stream: "stdout" | "stderr", line: string) => void
  /** Something that an operator should see. `subject`: a module's name, or what of the host it is about. */
  readonly onNote: (subject: string, note: string) => void
}

/** How long a host waits: before it starts something again, and between its checks. Tests pass shorter times. */
export interface HostPolicy {
  /** Of the threads of hub and executor. Default: 100 ms doubling to 30 s, without end: no module works without them. */
  readonly actorRestart: RestartPolicy
  /**
   * Of the threads of modules. Default: 20 ms doubling to 5 s, without end. One is ended for the fault of one module, which is alone
   * afterwards, and its other modules wait for it.
   */
  readonly workerRestart: RestartPolicy
  /** Of a module that has ended. Default: {@link moduleBackOff}. */
  readonly moduleRestart: BackOffPolicy
  /**
   * Before a module watches again from a version, if such a watch of it has expired (410). Default: 1 s doubling to 1 min, forgotten after 2 min
   * without; see {@link ExpiryPace}.
   */
  readonly expiredWatch: BackOffPolicy
  /** ms that a compilation may take. Default 30,000: a Go module of 25 MB takes a quarter of a second, and only modules that are to start wait. */
  readonly compileMs: number
  /** ms between two looks for credentials that have changed. Default 60,000. */
  readonly renewEveryMs: number
  /**
   * ms between two checks of all open watches. Default 10,000. How often the API server is asked is the reviewer's matter: a right that is taken
   * away lasts for its cached minute and this time. A watch whose kind did not exist begins after this time, like the hub's own.
   */
  readonly recheckEveryMs: number
}

export const defaultHostPolicy: HostPolicy = {
  actorRestart: {
    backOff: { initialMs: 100, maximumMs: 30_000, factor: 2, jitter: 1, resetAfterMs: 60_000 },
    maximumCrashes: Number.POSITIVE_INFINITY,
    windowMs: 600_000,
  },
  workerRestart: {
    backOff: { initialMs: 20, maximumMs: 5000, factor: 2, jitter: 0.5, resetAfterMs: 60_000 },
    maximumCrashes: Number.POSITIVE_INFINITY,
    windowMs: 60_000,
  },
  moduleRestart: moduleBackOff,
  expiredWatch: { initialMs: 1000, maximumMs: 60_000, factor: 2, jitter: 0.2, resetAfterMs: 120_000 },
  compileMs: 30_000,
  renewEveryMs: 60_000,
  recheckEveryMs: 10_000,
}
