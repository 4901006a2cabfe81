/** The driver's webhook: its Service, its certificate, and the configuration by which the API server asks it about pods of the replay. */
import type { ApiObject } from "../../../kube/client/objects.ts"
import { derivedNames } from "../../api/derived-names.ts"
import { defaultIssuer, defaultNamespacePrefix } from "../../api/driver.ts"
import type { Simulation } from "../../api/simulation.ts"
import { makeServerCertificate, type ServerCertificate } from "../../webhook/certificate.ts"
import { belonging } from "./belonging.ts"

/** One for each simulation; SimKube's fixed name allows one in a namespace (W-58). */
export const certificateSecret = (simulation: string): string => `sk-${simulation}-driver-cert`

/** `undefined`: the controller makes the certificate. Else the ClusterIssuer of cert-manager that does. */
export const issuerOf = ({ spec }: Simulation): string | undefined => {
  const { certManagerIssuer = defaultIssuer } = spec.driver
  return certManagerIssuer === defaultIssuer ? undefined : certManagerIssuer
}

/** ms. A year: longer than any simulation runs. */
const validForMs = 365 * 86_400_000
/** ms by which the clocks of API server and controller may differ. */
const skewMs = 3_600_000

const hostOf = ({ metadata: { name }, spec }: Simulation): string =>
  `${derivedNames(name).service}.${spec.driver.namespace}.svc`

/** `nowMs`: since the Unix epoch. */
export const newCertificate = (simulation: Simulation, nowMs: number): ServerCertificate =>
  makeServerCertificate({ host: hostOf(simulation), notBeforeMs: nowMs - skewMs, notAfterMs: nowMs + validForMs })

/** `root`: the simulation's SimulationRoot, here and below. */
export const driverService = ({ metadata: { name }, spec }: Simulation, root: ApiObject): ApiObject => {
  const { port, namespace } = spec.driver
  const names = derivedNames(name)
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: belonging(name, root, names.service, namespace),
    spec: {
      selector: { "job-name": names.driver },
      ports: [{ name: "webhook", port, targetPort: port, protocol: "TCP" }],
    },
  }
}

/** What the driver's pod mounts, if the controller makes the certificate. */
export const driverSecret = (
  { metadata: { name }, spec }: Simulation,
  root: ApiObject,
  { certificate, key }: ServerCertificate,
): ApiObject => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: belonging(name, root, certificateSecret(name), spec.driver.namespace),
  type: "kubernetes.io/tls",
  data: { "tls.crt": encoded(certificate), "tls.key": encoded(key) },
})

/** For cert-manager. */
export const driverCertificate = (simulation: Simulation, root: ApiObject, issuer: string): ApiObject => {
  const { name } = simulation.metadata
  const secretName = certificateSecret(name)
  const metadata = belonging(name, root, secretName, simulation.spec.driver.namespace)
  return {
    apiVersion: "cert-manager.io/v1",
    kind: "Certificate",
    metadata,
    spec: {
      secretName,
      secretTemplate: { labels: metadata.labels },
      issuerRef: { kind: "ClusterIssuer", name: issuer },
      dnsNames: [hostOf(simulation)],
    },
  }
}

/** As far as the controller reads it. */
export interface WebhookConfiguration extends ApiObject {
  readonly webhooks?: ReadonlyArray<{ readonly clientConfig?: { readonly caBundle?: string } }>
}

/** `authority`: PEM, or `undefined` if cert-manager fills it in. */
export const webhookConfiguration = (
  { metadata: { name }, spec }: Simulation,
  root: ApiObject,
  authority: string | undefined,
): WebhookConfiguration => {
  const { namespace, port, virtualNsPrefix = defaultNamespacePrefix } = spec.driver
  const names = derivedNames(name)
  const metadata = belonging(name, root, names.webhook)
  const webhook = (operation: string, operations: ReadonlyArray<string>, resources: ReadonlyArray<string>) => ({
    name: `${operation}.mutatepods.simkube.io`,
    clientConfig: {
      service: { namespace, name: names.service, port, path: "/" },
      ...(authority !== undefined && { caBundle: encoded(authority) }),
    },
    rules: [{ apiGroups: [""], apiVersions: ["v1"], resources, operations, scope: "Namespaced" }],
    // A prefix that the driver's namespace begins with too would have its own pod wait for it.
    namespaceSelector: {
      matchExpressions: [{ key: "kubernetes.io/metadata.name", operator: "NotIn", values: [namespace] }],
    },
    matchConditions: [
      {
        name: "virtual-namespaces-only",
        expression: `${operations.includes("DELETE") ? "oldObject" : "object"}.metadata.namespace.startsWith('${virtualNsPrefix}-')`,
      },
    ],
    failurePolicy: "Fail",
    sideEffects: "None",
    admissionReviewVersions: ["v1"],
  })
  const pods = ["pods", "pods/status"]
  return {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "MutatingWebhookConfiguration",
    metadata: {
      ...metadata,
      ...(authority === undefined && {
        annotations: { "cert-manager.io/inject-ca-from": `${namespace}/${certificateSecret(name)}` },
      }),
    },
    webhooks: [
      webhook("create-update", ["CREATE", "UPDATE"], pods),
      ...(spec.rescheduleInterruptedBarePods === true ? [webhook("delete", ["DELETE"], pods)] : []),
    ],
  }
}

/** The bundle with one more authority, in base64 as the field has it. */
export const withAuthority = (bundle: string, authority: string): string =>
  encoded(`${Buffer.from(bundle, "base64").toString()}${authority}`)

const encoded = (text: string): string => Buffer.from(text).toString("base64")
