/** EndpointSlices. No controller makes them here: clients may. */

import { isIPv4, isIPv6 } from "node:net"
import {
  duplicate,
  type Errors,
  immutable,
  invalid,
  invalidEach,
  notSupported,
  required,
  tooMany,
} from "../../../apiserver/answers/field-error.ts"
import { labelComplaints, qualifiedNameComplaints, subdomainComplaints } from "../../../kube/names.ts"
import { items, list, text, texts } from "../fields.ts"
import type { Kind } from "../kind.ts"
import type { Fields } from "../kind-rules.ts"
import { portProtocols } from "../pods/container-validation.ts"

const addressTypes = ["FQDN", "IPv4", "IPv6"]
const mostEndpoints = 1000
const mostAddresses = 100

/** Absent is not the same as empty here: a port without a name has the empty one. */
const namePort = (port: Fields): void => {
  port.name ??= ""
}

/** The server stores protobuf, in which an empty list is none. */
const emptyIsNone = (object: Fields): void => {
  for (const key of ["endpoints", "ports"]) if (list(object, key).length === 0) object[key] = null
}

export const endpointSliceKind: Kind = {
  defaults: { each: { ports: { set: { protocol: "TCP" }, derive: namePort } } },
  generation: ["addressType", "endpoints", "ports", "metadata.labels"],
  prepareCreate: emptyIsNone,
  prepareUpdate: emptyIsNone,
  check: (object, errors) => {
    const type = text(object, "addressType")
    if (type === "") errors.push(required("addressType"))
    else if (!addressTypes.includes(type)) errors.push(notSupported("addressType", type, addressTypes))
    checkPorts(items(object, "ports"), errors)
    const endpoints = items(object, "endpoints")
    if (endpoints.length > mostEndpoints) errors.push(tooMany("endpoints", endpoints.length, mostEndpoints))
    else
      for (const [index, endpoint] of endpoints.entries()) checkEndpoint(endpoint, type, `endpoints[${index}]`, errors)
  },
  checkChange: (object, old, errors) => {
    if (object.addressType !== old.addressType) errors.push(immutable("addressType", object.addressType))
  },
}

const checkPorts = (ports: ReadonlyArray<Fields>, errors: Errors): void => {
  const names = new Set<string>()
  for (const [index, port] of ports.entries()) {
    const [name, protocol] = [text(port, "name"), text(port, "protocol")]
    if (name !== "") errors.push(...invalidEach(`ports[${index}].name`, name, labelComplaints(name)))
    if (names.has(name)) errors.push(duplicate(`ports[${index}].name`, name))
    names.add(name)
    if (!portProtocols.includes(protocol))
      errors.push(notSupported(`ports[${index}].protocol`, protocol, portProtocols))
    const { appProtocol } = port
    if (typeof appProtocol === "string")
      errors.push(...invalidEach(`ports[${index}].appProtocol`, appProtocol, qualifiedNameComplaints(appProtocol)))
  }
}

const checkEndpoint = (endpoint: Fields, type: string, field: string, errors: Errors): void => {
  const count = list(endpoint, "addresses").length
  if (count === 0) errors.push(required(`${field}.addresses`, "must contain at least 1 address"))
  else if (count > mostAddresses) errors.push(tooMany(`${field}.addresses`, count, mostAddresses))
  for (const [index, address] of texts(endpoint, "addresses").entries())
    checkAddress(address, type, `${field}.addresses`, index, errors)
  const { nodeName, hostname } = endpoint
  if (typeof nodeName === "string")
    errors.push(...invalidEach(`${field}.nodeName`, nodeName, subdomainComplaints(nodeName)))
  if (typeof hostname === "string")
    errors.push(...invalidEach(`${field}.hostname`, hostname, labelComplaints(hostname)))
}

const checkAddress = (address: string, type: string, field: string, index: number, errors: Errors): void => {
  if (type === "FQDN") {
    errors.push(...invalidEach(`${field}[${index}]`, address, subdomainComplaints(address)))
    return
  }
  if (type !== "IPv4" && type !== "IPv6") return
  const [isFour, isSix] = [isIPv4(address), isIPv6(address)]
  if (!isFour && !isSix)
    errors.push(invalid(`${field}[${index}]`, address, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"))
  else if (type === "IPv4" ? !isFour : !isSix) errors.push(invalid(field, address, `must be an ${type} address`))
}
