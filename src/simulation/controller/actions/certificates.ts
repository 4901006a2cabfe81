/** The certificate of the driver's webhook, and the API server's trust in it. */
import type { ControllerCluster } from "../../../host/controller/access/controller-cluster.ts"
import { NotFoundError } from "../../../kube/client/api-errors.ts"
import type { ApiObject, Condition } from "../../../kube/client/objects.ts"
import type { Simulation } from "../../api/simulation.ts"
import {
  driverCertificate,
  driverSecret,
  newCertificate,
  type WebhookConfiguration,
  webhookConfiguration,
  withAuthority,
} from "../objects/webhook.ts"
import { createOwn, createShared, isNameTaken } from "./creation.ts"
import { Awaited, Mistake } from "./problems.ts"

/**
 * Makes the certificate, so that cert-manager is not needed. Secrets are created unread: the controller has no right to read those of others. So an authority is trusted
 * before a certificate of it may be stored, and those of earlier attempts stay trusted, since one of theirs may be stored already.
 */
export const prepareOwnCertificate = async (
  cluster: ControllerCluster,
  simulation: Simulation,
  root: ApiObject,
): Promise<void> => {
  const certificate = newCertificate(simulation, Date.parse(cluster.now()))
  const secret = driverSecret(simulation, root, certificate)
  const wanted = webhookConfiguration(simulation, root, certificate.authority)
  const present = await createOwn<WebhookConfiguration>(cluster, root, wanted)
  const [bundle = ""] = bundlesOf(present)
  if (bundle !== bundlesOf(wanted)[0]) {
    if (await isNameTaken(cluster, secret)) return
    const value = withAuthority(bundle, certificate.authority)
    await cluster.patch(present, "json", [
      // A conflict if someone was faster. A failed "test" would be an invalid request, which is final.
      { op: "replace", path: "/metadata/resourceVersion", value: present.metadata.resourceVersion },
      ...bundlesOf(present).map((_, index) => ({
        op: "add",
        path: `/webhooks/${index}/clientConfig/caBundle`,
        value,
      })),
    ])
  }
  await createShared(cluster, secret)
}

/** ms that cert-manager may take. */
const issuedWithinMs = 10 * 60_000

/** As far as the controller reads it. */
interface Certificate extends ApiObject {
  readonly status?: { readonly conditions?: ReadonlyArray<Condition> }
}

/** cert-manager makes the certificate, and puts its authority into the configuration. `issuer`: a ClusterIssuer. */
export const prepareIssuedCertificate = async (
  cluster: ControllerCluster,
  simulation: Simulation,
  root: ApiObject,
  issuer: string,
): Promise<void> => {
  const { metadata, status } = await issuedBy(cluster, simulation, root, issuer)
  const present = await createOwn<WebhookConfiguration>(
    cluster,
    root,
    webhookConfiguration(simulation, root, undefined),
  )
  const ready = status?.conditions?.find(({ type }) => type === "Ready")
  const place = `${metadata.namespace}/${metadata.name}`
  const isTrusted = bundlesOf(present).every((bundle) => bundle !== "")
  if (ready?.status === "True" && isTrusted) return
  const waitedMs = Date.parse(cluster.now()) - Date.parse(metadata.creationTimestamp ?? "")
  const why = ready?.message === undefined ? "" : `: ${ready.message}`
  if (waitedMs > issuedWithinMs)
    throw new Mistake(
      "CertificateNotIssued",
      `ClusterIssuer ${issuer} has not issued the certificate ${place} in ${issuedWithinMs / 60_000} minutes${why}; kubectl describe certificate tells more`,
    )
  throw ready?.status === "True"
    ? new Awaited("WaitingForWebhookCertBundle", `cert-manager has not put the authority of ${place} into the webhook`)
    : new Awaited("WaitingForDriverSecret", `ClusterIssuer ${issuer} has not issued the certificate ${place} yet${why}`)
}

const issuedBy = async (
  cluster: ControllerCluster,
  simulation: Simulation,
  root: ApiObject,
  issuer: string,
): Promise<Certificate> => {
  try {
    // Without cert-manager the kind does not exist.
    await cluster.kind("cert-manager.io/v1.Certificate")
  } catch (error) {
    if (!(error instanceof NotFoundError)) throw error
    throw new Mistake(
      "CertManagerMissing",
      `spec.driver.certManagerIssuer is ${issuer}, but cert-manager is not installed; install it, or remove the field, then the controller makes the certificate`,
    )
  }
  return createOwn<Certificate>(cluster, root, driverCertificate(simulation, root, issuer))
}

const bundlesOf = ({ webhooks = [] }: WebhookConfiguration): ReadonlyArray<string> =>
  webhooks.map(({ clientConfig }) => clientConfig?.caBundle ?? "")
