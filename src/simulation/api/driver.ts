/** `spec.driver`: the Job that replays the trace. */
import * as Schema from "effect/Schema"
import { additional, anyText, int32, list, optional, rules, text } from "./fields.ts"
import { longestAddress, traceAddressRule } from "./trace-address.ts"

/** What the namespaces of a replay begin with if the Simulation does not say. SimKube's default. */
export const defaultNamespacePrefix = "virtual"

/** SimKube's default for the issuer. It is also the name of the certificate that the controller makes by itself. */
export const defaultIssuer = "selfsigned"

/** A namespace of the replay is the prefix, a hyphen and at least one character of the name in the trace: 63 in all. */
const longestPrefix = 61

const namespaceRule = {
  rule: "self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",
  message: "must be the name of a namespace: lower-case letters, digits and hyphens, no hyphen at either end",
}

const prefixRule = {
  rule: "self.matches('^[a-z0-9][-a-z0-9]*$')",
  message: "must start names of namespaces: lower-case letters, digits and hyphens, no hyphen at the start",
}

/** The Job that replays the trace, and where it runs. */
export const SimulationDriver = Schema.Struct({
  image: text(1024, "Image of the driver."),
  namespace: text(63, "Namespace of the driver. It is created if it does not exist.").annotate(rules(namespaceRule)),
  port: int32(1, 65_535, "Port of the driver's webhook."),
  tracePath: text(
    longestAddress,
    "Where the trace is: a path or file:///PATH on the node, s3://BUCKET/KEY, gs://BUCKET/KEY, azure://CONTAINER/KEY, or an https address.",
  ).annotate(rules(traceAddressRule)),
  args: optional(list(anyText("An argument."), 256, "Arguments for the driver, after those of the controller.")),
  secrets: optional(
    list(
      text(253, "Name of a Secret in the driver's namespace."),
      64,
      "Secrets whose keys become environment variables of the driver, such as the credentials of an object store. All have to exist.",
    ),
  ),
  virtualNsPrefix: additional(
    text(
      longestPrefix,
      "What the names of the replay's namespaces begin with, before a hyphen and their name in the trace. Default: virtual.",
    ).annotate({
      ...rules(prefixRule),
      default: defaultNamespacePrefix,
    }),
  ),
  certManagerIssuer: additional(
    text(
      253,
      "Who signs the certificate of the driver's webhook: selfsigned, then the controller makes it, or the name of a ClusterIssuer of cert-manager. Default: selfsigned.",
    ).annotate({ default: defaultIssuer }),
  ),
}).annotate({ description: "The Job that replays the trace." })

/** Decoded, which is also how it is in JSON. */
export type SimulationDriver = typeof SimulationDriver.Type
