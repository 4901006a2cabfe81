/** The Service of a recorder in a cluster: the value of `--in-cluster`, and the Service's paths at the API server. */
import { type Reading, refused, value } from "../../command-line/arguments.ts"

/** `NAMESPACE/SERVICE[:PORT]`. */
export interface ServiceAddress {
  readonly namespace: string
  readonly service: string
  /** Name or number of a port of the Service; `undefined`: its only port, or the one named `http`. */
  readonly port: string | undefined
}

/** A Service whose port is known. */
export type ServicePort = ServiceAddress & { readonly port: string }

/** RFC 1123 label: the names of namespaces, Services and their ports. None of its characters needs encoding in a path. */
const label = "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
const form = new RegExp(`^(?<namespace>${label})/(?<service>${label})(?::(?<port>${label}))?$`)

export const parseServiceAddress = (given: string): Reading<ServiceAddress> => {
  const { namespace, service, port } = form.exec(given)?.groups ?? {}
  if (namespace === undefined || service === undefined)
    return refused("must be NAMESPACE/SERVICE or NAMESPACE/SERVICE:PORT, such as kubereel/kubereel")
  if (port !== undefined && /^\d+$/.test(port) && !(Number(port) >= 1 && Number(port) <= 65_535))
    return refused(`${port} is not a port number`)
  return value({ namespace, service, port })
}

export const displayed = ({ namespace, service, port }: ServiceAddress): string =>
  `${namespace}/${service}${port === undefined ? "" : `:${port}`}`

/** As Roles name it in `resourceNames`: for authorisation, the port is part of the name. */
const proxiedName = ({ service, port }: ServicePort): string => `${service}:${port}`

/** Path of the Service itself at the API server. */
export const servicePath = ({ namespace, service }: ServiceAddress): string =>
  `/api/v1/namespaces/${namespace}/services/${service}`

/** Path at the API server that is proxied to `/` of the Service. */
export const proxyPath = (address: ServicePort): string =>
  `/api/v1/namespaces/${address.namespace}/services/${proxiedName(address)}/proxy`
