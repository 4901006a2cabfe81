/** The command line and the environment of `reel driver`: those of SimKube's driver, and options of our own for `spec.driver.args`. */

import * as Result from "effect/Result"
import {
  type CommandSyntax,
  flag,
  integerBetween,
  type OptionValues,
  optional,
  parseArguments,
  required,
  withDefault,
} from "../command-line/arguments.ts"
import { clusterOptions, clusterVariables, storeVariables } from "../command-line/shared-options.ts"
import { parseSettling } from "../replay/replay-values.ts"

const port = integerBetween(0, 65_535)

const driverOptions = {
  simName: required("NAME", "the Simulation"),
  controllerNs: required("NAMESPACE", "namespace of the controller, where SimKube's keeps a Lease of the driver"),
  tracePath: required(
    "TRACE",
    "a path, file:///PATH, s3://BUCKET/KEY (also gs:// and azure://) or http(s)://HOST/PATH; or the data directory of a recorder",
  ),
  certPath: required("FILE", "certificate of the webhook, PEM; read once, at the start"),
  keyPath: required("FILE", "its key, PEM"),
  admissionWebhookPort: withDefault("8888", "PORT", "port of the webhook, on all addresses", port),
  verbosity: optional("-v LEVEL", "accepted because SimKube's driver has it; without effect"),
  ...clusterOptions,
  partial: flag({ help: "replay although the cluster lacks kinds or permissions; what needs them is refused" }),
  intoRecordedCluster: flag({ help: "replay although the cluster is the one that was recorded" }),
  concurrency: withDefault("16", "NUMBER", "writes at the same time", integerBetween(1, 256)),
  settle: withDefault(
    "10s",
    "DURATION",
    "how long the comparison with the trace may wait at the end until nothing has changed for a second",
    parseSettling,
  ),
  metricsPort: optional(
    "PORT",
    "serve the metrics of the replay at /metrics, on all addresses; default: nowhere",
    port,
  ),
}

export const driverSyntax: CommandSyntax<typeof driverOptions> = {
  name: "reel driver",
  summary: "Replays one repetition of a Simulation; the controller of Simulations starts it.",
  description: [
    "Takes the arguments of SimKube's driver. Follows pauses and the speed of the Simulation, and removes what it created, also after a failure or SIGTERM.",
  ],
  options: driverOptions,
  exitCodes: {
    ok: "the repetition is complete, also if the cluster refused writes",
    failed: "it is not complete, or was stopped",
    notPermitted: "the server refuses the credentials",
  },
  environment: [
    ["DRIVER_NAME", "name of the driver's pod; required"],
    ["JOB_COMPLETION_INDEX", "which repetition it is, from 0 on; default: 0"],
    ["KUBEREEL_TERMINATION_LOG", "file for the last message; default: /dev/termination-log"],
    ...clusterVariables,
    ...storeVariables,
  ],
  examples: [
    "DRIVER_NAME=here reel driver --sim-name monday --controller-ns simkube --trace-path monday.sktrace --cert-path tls.crt --key-path tls.key",
  ],
  seeAlso: ["reel controller", "reel run", "docs/reference/simulation-driver.md"],
}

/** What a driver is to do. Times are ms. */
export interface DriverRequest {
  readonly simulation: string
  /** The driver's pod. */
  readonly pod: string
  /** From 1. */
  readonly repetition: number
  readonly tracePath: string
  readonly certPath: string
  readonly keyPath: string
  /** 0: any that is free. */
  readonly webhookPort: number
  readonly isPartial: boolean
  readonly intoRecordedCluster: boolean
  readonly concurrency: number
  readonly settleMs: number
  readonly metricsPort: number | undefined
}

type Environment = Readonly<Record<string, string | undefined>>

/** For a caller without a process: `argv` without the program's name. A failure says in one line what is wrong. */
export const parseDriver = (
  argv: ReadonlyArray<string>,
  environment: Environment,
): Result.Result<DriverRequest, string> => {
  const parsed = parseArguments(driverSyntax, argv)
  if (parsed._tag === "Options") return requestOf(parsed.options, environment)
  return Result.fail(parsed._tag === "Wrong" ? parsed.error.problem : `--${parsed._tag.toLowerCase()} starts no driver`)
}

/** Adds what the environment says. */
export const requestOf = (
  given: OptionValues<typeof driverOptions>,
  { DRIVER_NAME: pod = "", JOB_COMPLETION_INDEX: index = "0" }: Environment,
): Result.Result<DriverRequest, string> => {
  if (!/^[a-z0-9]([-a-z0-9.]{0,240}[a-z0-9])?$/.test(pod))
    return Result.fail("the environment variable DRIVER_NAME must be the name of the driver's pod")
  if (!/^\d{1,9}$/.test(index))
    return Result.fail("the environment variable JOB_COMPLETION_INDEX must be a number from 0 on")
  return Result.succeed({
    simulation: given.simName,
    pod,
    repetition: Number(index) + 1,
    tracePath: given.tracePath,
    certPath: given.certPath,
    keyPath: given.keyPath,
    webhookPort: given.admissionWebhookPort,
    isPartial: given.partial,
    intoRecordedCluster: given.intoRecordedCluster,
    concurrency: given.concurrency,
    settleMs: given.settle / 1000,
    metricsPort: given.metricsPort,
  })
}
