/** Which Service leads to a recorder in a cluster: what follows `--in-cluster`, and its path at the API server. */
import { type Reading, refused, value } from "../command-line/arguments.ts"

/** `NAMESPACE/SERVICE[:PORT]`. */
export interface ServiceAddress {
  readonly namespace: string
  readonly service: string
  /** Name or number of a port of the Service; `undefined`: the one that the Service leaves no doubt about. */
  readonly port: string | undefined
}

/** A Service whose port is known. */
export type ServicePort = ServiceAddress & { readonly port: string }

/** RFC 1123 label: what namespaces, Services and their ports may be called. No character of it needs encoding in a path. */
const label = "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
const form = new RegExp(`^(?<namespace>${label})/(?<service>${label})(?::(?<port>${label}))?$`)

export const parseServiceAddress = (given: string): Reading<ServiceAddress> => {
  const { namespace, service, port } = form.exec(given)?.groups ?? {}
  if (namespace === undefined || service === undefined)
    return refused("it must be NAMESPACE/SERVICE or NAMESPACE/SERVICE:PORT, such as kubereel/kubereel")
  if (port !== undefined && /^\d+$/.test(port) && !(Number(port) >= 1 && Number(port) <= 65_535))
    return refused(`${port} is no port`)
  return value({ namespace, service, port })
}

export const displayed = ({ namespace, service, port }: ServiceAddress): string =>
  `${namespace}/${service}${port === undefined ? "" : `:${port}`}`

/** As Roles name it in `resourceNames`: authorisation sees the port as part of the name. */
export const proxiedName = ({ service, port }: ServicePort): string => `${service}:${port}`

/** Path of the Service itself at the API server. */
export const servicePath = ({ namespace, service }: ServiceAddress): string =>
  `/api/v1/namespaces/${namespace}/services/${service}`

/** Path at the API server that leads to `/` of what the Service stands for. */
export const proxyPath = (address: ServicePort): string =>
  `/api/v1/namespaces/${address.namespace}/services/${proxiedName(address)}/proxy`
