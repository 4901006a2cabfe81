/** `spec.metrics`: a Prometheus for the time of a simulation. Needs the Prometheus operator. */
import * as Schema from "effect/Schema"
import { anyText, flag, int32, list, open, optional, text } from "./fields.ts"

/**
 * The Prometheus operator's remote write. Its simple fields are described; the others, and fields of later versions of the operator, pass through as they
 * are, and the operator's own definition checks them.
 */
const RemoteWrite = Schema.Struct({
  url: anyText("Where the samples go."),
  name: optional(anyText("A name, unique among the remote writes.")),
  remoteTimeout: optional(anyText("Time limit of a request. Default: 30s.")),
  sendExemplars: optional(flag("Default: false.")),
  sendNativeHistograms: optional(flag("Default: false.")),
  headers: optional(Schema.Record(Schema.String, Schema.String).annotate({ description: "Headers of each request." })),
  proxyUrl: optional(anyText("A proxy.")),
  bearerToken: optional(anyText("A token. Anyone who can read this object can read it; authorization is better.")),
  bearerTokenFile: optional(anyText("A file with a token.")),
  authorization: optional(open("As in the Prometheus operator's RemoteWriteSpec, as are the fields below.")),
  basicAuth: optional(open("User and password, out of Secrets.")),
  oauth2: optional(open("OAuth 2.0 client credentials.")),
  sigv4: optional(open("AWS signatures.")),
  tlsConfig: optional(open("Certificates.")),
  metadataConfig: optional(open("Whether and how often metadata is sent.")),
  queueConfig: optional(open("The queue of samples.")),
  writeRelabelConfigs: optional(Schema.Array(open("A rule.")).annotate({ description: "Rules for what is sent." })),
}).annotate({ "x-kubernetes-preserve-unknown-fields": true })

const names = (what: string) => optional(list(text(253, "A name."), 256, `${what} Absent: all.`))

/** A Prometheus that exists as long as the simulation runs. */
export const SimulationMetrics = Schema.Struct({
  namespace: optional(text(63, "Namespace of the Prometheus. Default: monitoring.")),
  serviceAccount: optional(text(253, "Its ServiceAccount, which has to exist there. Default: prometheus-k8s.")),
  prometheusShards: optional(int32(0, 1000, "Number of shards. Default: 1.")),
  podMonitorNames: names("Names of the PodMonitors that count, by their label app.kubernetes.io/name."),
  podMonitorNamespaces: names("Namespaces of the PodMonitors that count."),
  serviceMonitorNames: names("Names of the ServiceMonitors that count, by their label app.kubernetes.io/name."),
  serviceMonitorNamespaces: names("Namespaces of the ServiceMonitors that count."),
  remoteWriteConfigs: list(RemoteWrite, 64, "Where Prometheus sends what it has scraped."),
}).annotate({
  description: "A Prometheus for the time of the simulation. Absent: none. It needs the Prometheus operator.",
})

/** Decoded, which is also how it is in JSON. */
export type SimulationMetrics = typeof SimulationMetrics.Type
