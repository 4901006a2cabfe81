/** The Simulation that the options of `reel run` describe. */
import { isAbsolute, resolve } from "node:path"
import type { Simulation, SimulationHooks, SimulationMetrics } from "../../simulation/api/simulation.ts"

import type { OptionValues } from "../command-line/arguments.ts"
import type { runOptions } from "./run-options.ts"

/** The values of `reel run`'s options. */
export type RunChoices = OptionValues<typeof runOptions>

/** `now`: RFC 3339. `directory`: what a relative path of the trace is relative to. Pure. */
export const simulationOf = (
  name: string,
  given: RunChoices,
  hooks: SimulationHooks | undefined,
  { now, directory }: { readonly now: string; readonly directory: string },
): Simulation => {
  const metrics = metricsOf(given)
  return {
    apiVersion: "simkube.io/v1",
    kind: "Simulation",
    metadata: {
      name,
      ...(given.skipLocalVolumeMount && {
        annotations: { "controller.simkube.io/skip-local-volume-mount": "true" },
      }),
    },
    spec: {
      driver: {
        image: given.driverImage,
        namespace: given.driverNamespace,
        port: given.driverPort ?? defaultPort,
        tracePath: traceAddress(given.tracePath, directory),
        virtualNsPrefix: given.virtualNsPrefix,
        args: ["--verbosity", given.driverVerbosity, ...given.driverArg],
        ...(given.driverSecrets.length > 0 && { secrets: given.driverSecrets }),
      },
      lifecycleParams: {
        imagePullDelay: given.imagePullDelay,
        imagePullJitter: given.imagePullJitter,
        podStartupDelay: given.podStartupDelay,
        podStartupJitter: given.podStartupJitter,
      },
      speed: given.speed,
      repetitions: given.repetitions,
      ...(given.duration !== undefined && { duration: given.duration }),
      ...(given.rescheduleInterruptedBarePods && { rescheduleInterruptedBarePods: true }),
      ...(given.startPaused && { pausedTime: now }),
      ...(hooks !== undefined && { hooks }),
      ...(metrics !== undefined && { metrics }),
      ...(given.report !== undefined && { report: { url: given.report } }),
    },
  }
}

/** SimKube's. */
const defaultPort = 8888

/** A path becomes absolute: the driver has another working directory. */
const traceAddress = (given: string, directory: string): string =>
  /^[a-z0-9]+:/i.test(given) || isAbsolute(given) ? given : resolve(directory, given)

/**
 * SimKube's defaults for what is not given, but only if some option asks for metrics: without the Prometheus operator a simulation that nobody asked to measure would have
 * nothing but a condition to show for it.
 */
const metricsOf = (given: RunChoices): SimulationMetrics | undefined => {
  const lists = [
    given.metricsPodMonitorNamespaces,
    given.metricsPodMonitorNames,
    given.metricsServiceMonitorNamespaces,
    given.metricsServiceMonitorNames,
  ]
  const { metricsNamespace, metricsServiceAccount, prometheusShards, remoteWriteEndpoint } = given
  const isAsked =
    lists.some((all) => all.length > 0) ||
    [metricsNamespace, metricsServiceAccount, prometheusShards, remoteWriteEndpoint].some((one) => one !== undefined)
  if (given.disableMetrics || !isAsked) return undefined
  const monitored = (namespaces: readonly string[]): readonly string[] =>
    namespaces.length === 0 ? ["monitoring-hd"] : namespaces
  return {
    namespace: metricsNamespace ?? "monitoring",
    serviceAccount: metricsServiceAccount ?? "prometheus-k8s",
    podMonitorNamespaces: monitored(given.metricsPodMonitorNamespaces),
    serviceMonitorNamespaces: monitored(given.metricsServiceMonitorNamespaces),
    ...(given.metricsPodMonitorNames.length > 0 && { podMonitorNames: given.metricsPodMonitorNames }),
    ...(given.metricsServiceMonitorNames.length > 0 && { serviceMonitorNames: given.metricsServiceMonitorNames }),
    ...(prometheusShards !== undefined && { prometheusShards }),
    remoteWriteConfigs: [{ url: remoteWriteEndpoint ?? "http://prom2parquet-svc:1234/receive" }],
  }
}
