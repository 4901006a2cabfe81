/** Validation of Services. */

import { isIP } from "node:net"
import {
  duplicate,
  type Errors,
  forbidden,
  invalid,
  invalidEach,
  notSupported,
  required,
} from "../../../apiserver/answers/field-error.ts"
import { labelComplaints, portComplaints, portNameComplaints, subdomainComplaints } from "../../../kube/names.ts"
import { child, isAbsent, isZero, items, list, number, text, texts } from "../fields.ts"
import type { Fields, MutableObject } from "../kind-rules.ts"
import { portProtocols } from "../pods/container-validation.ts"
import { checkLabels } from "../values/object-metadata.ts"

export const serviceTypes = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"]
const affinities = ["ClientIP", "None"]
const policies = ["Cluster", "Local"]

export const needsNodePort = (spec: Fields): boolean =>
  spec.type === "NodePort" || (spec.type === "LoadBalancer" && spec.allocateLoadBalancerNodePorts !== false)
export const needsClusterIp = (spec: Fields): boolean => text(spec, "type") !== "ExternalName"
export const isHeadless = (spec: Fields): boolean =>
  texts(spec, "clusterIPs")[0] === "None" || spec.clusterIP === "None"
/** Whether the Service is reachable from outside the cluster. */
export const isExternal = (spec: Fields): boolean =>
  spec.type === "LoadBalancer" ||
  spec.type === "NodePort" ||
  (spec.type === "ClusterIP" && list(spec, "externalIPs").length > 0)

/** A number or a name; absent counts as 0. */
const checkTarget = (value: unknown, field: string, errors: Errors): void => {
  if (typeof value === "string") errors.push(...invalidEach(field, value, portNameComplaints(value)))
  else {
    const target = typeof value === "number" ? value : 0
    errors.push(...invalidEach(field, target, portComplaints(target)))
  }
}

const checkPorts = (spec: Fields, errors: Errors): void => {
  const ports = items(spec, "ports")
  const names = new Set<string>()
  for (const [index, entry] of ports.entries()) {
    const place = `spec.ports[${index}]`
    const name = text(entry, "name")
    if (name !== "") {
      errors.push(...invalidEach(`${place}.name`, name, labelComplaints(name)))
      if (names.has(name)) errors.push(duplicate(`${place}.name`, name))
      names.add(name)
    } else if (ports.length > 1) errors.push(required(`${place}.name`))
    const value = number(entry, "port") ?? 0
    errors.push(...invalidEach(`${place}.port`, value, portComplaints(value)))
    const protocol = text(entry, "protocol")
    if (protocol === "") errors.push(required(`${place}.protocol`))
    else if (!portProtocols.includes(protocol)) errors.push(notSupported(`${place}.protocol`, protocol, portProtocols))
    checkTarget(entry.targetPort, `${place}.targetPort`, errors)
  }
}

const checkUnique = (spec: Fields, key: string, report: (entry: Fields, place: string) => void): void => {
  const seen = new Set<string>()
  for (const [index, entry] of items(spec, "ports").entries()) {
    const value = number(entry, key) ?? 0
    if (value === 0 && key === "nodePort") continue
    const pair = `${text(entry, "protocol")}/${value}`
    if (seen.has(pair)) report(entry, `spec.ports[${index}]`)
    seen.add(pair)
  }
}

const notAnAddress = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"

const checkAddresses = (spec: Fields, errors: Errors): void => {
  const addresses = texts(spec, "clusterIPs")
  const single = text(spec, "clusterIP")
  if (single !== "" && addresses.length === 0) errors.push(required("spec.clusterIPs"))
  else if (single !== "" && addresses[0] !== single)
    errors.push(invalid("spec.clusterIPs", addresses, "first value must match `clusterIP`"))
  else if (single === "" && addresses.length > 0)
    errors.push(invalid("spec.clusterIPs", addresses, "must be empty when `clusterIP` is not specified"))
  for (const [index, address] of addresses.entries()) {
    if (index === 0 && address === "None") {
      if (addresses.length > 1)
        errors.push(invalid("spec.clusterIPs", addresses, "'None' must be the first and only value"))
    } else if (isIP(address) === 0) errors.push(invalid(`spec.clusterIPs[${index}]`, address, notAnAddress))
  }
}

const checkExternalName = (spec: Fields, errors: Errors): void => {
  for (const key of ["clusterIPs", "ipFamilies", "ipFamilyPolicy"])
    if (!isZero(spec[key])) errors.push(forbidden(`spec.${key}`, "may not be set for ExternalName services"))
  const name = text(spec, "externalName").replace(/\.$/, "")
  if (name === "") errors.push(required("spec.externalName"))
  else errors.push(...invalidEach("spec.externalName", name, subdomainComplaints(name)))
}

/** Checks a Service except for its metadata. */
export const checkService = (object: MutableObject, errors: Errors): void => {
  const spec = child(object, "spec") ?? {}
  const type = text(spec, "type")
  if (list(spec, "ports").length === 0 && !isHeadless(spec) && type !== "ExternalName")
    errors.push(required("spec.ports"))
  if ((type === "LoadBalancer" || type === "NodePort") && isHeadless(spec))
    errors.push(invalid("spec.clusterIPs[0]", "None", `may not be set to 'None' for ${type} services`))
  if (type === "ExternalName") checkExternalName(spec, errors)
  checkPorts(spec, errors)
  checkLabels(child(spec, "selector"), "spec.selector", errors)
  const affinity = text(spec, "sessionAffinity")
  if (!affinities.includes(affinity)) errors.push(notSupported("spec.sessionAffinity", affinity, affinities))
  if (type !== "ExternalName") checkAddresses(spec, errors)
  if (!serviceTypes.includes(type)) errors.push(notSupported("spec.type", type, serviceTypes))
  if (type === "ClusterIP")
    for (const [index, entry] of items(spec, "ports").entries())
      if (!isZero(entry.nodePort))
        errors.push(forbidden(`spec.ports[${index}].nodePort`, "may not be used when `type` is 'ClusterIP'"))
  checkUnique(spec, "nodePort", (entry, place) => errors.push(duplicate(`${place}.nodePort`, entry.nodePort)))
  checkUnique(spec, "port", (entry, place) => errors.push(duplicate(place, entry)))
  if (!isAbsent(spec.allocateLoadBalancerNodePorts) && type !== "LoadBalancer")
    errors.push(forbidden("spec.allocateLoadBalancerNodePorts", "may only be used when `type` is 'LoadBalancer'"))
  const external = text(spec, "externalTrafficPolicy")
  if (external !== "" && !isExternal(spec))
    errors.push(invalid("spec.externalTrafficPolicy", external, "may only be set for externally-accessible services"))
  else if (external !== "" && !policies.includes(external))
    errors.push(notSupported("spec.externalTrafficPolicy", external, policies))
  const internal = spec.internalTrafficPolicy
  if (!isAbsent(internal) && !policies.includes(String(internal)))
    errors.push(notSupported("spec.internalTrafficPolicy", internal, policies))
}

/** Checks what may not change while the Service has an address. */
export const checkServiceChange = (object: MutableObject, old: MutableObject, errors: Errors): void => {
  const [spec, before] = [child(object, "spec") ?? {}, child(old, "spec") ?? {}]
  if (!needsClusterIp(spec) || !needsClusterIp(before) || (isHeadless(spec) && isHeadless(before))) return
  const [wanted, present] = [texts(spec, "clusterIPs"), texts(before, "clusterIPs")]
  if (present.length > 0 && wanted.length === 0)
    errors.push(invalid("spec.clusterIPs[0]", null, "primary clusterIP can not be unset"))
  else if (present.length > 0 && wanted[0] !== present[0])
    errors.push(invalid("spec.clusterIPs[0]", wanted, "may not change once set"))
}
