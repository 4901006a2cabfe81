/** Ingresses and IngressClasses. Nothing carries them out here. */

import { isIP } from "node:net"
import {
  type Errors,
  immutable,
  invalid,
  invalidEach,
  notSupported,
  required,
  tooLong,
} from "../../../apiserver/answers/field-error.ts"
import {
  hostLabelComplaints,
  pathSegmentComplaints,
  portComplaints,
  portNameComplaints,
  subdomainComplaints,
  wildcardSubdomainComplaints,
} from "../../../kube/names.ts"
import { at, child, isAbsent, isSame, items, number, text, texts } from "../fields.ts"
import type { Kind } from "../kind.ts"
import type { Fields } from "../kind-rules.ts"

const pathTypes = ["Exact", "ImplementationSpecific", "Prefix"]
const notInPaths = ["//", "/./", "/../", "%2f", "%2F"]
const notAtEnds = ["/..", "/."]
const classAnnotation = "kubernetes.io/ingress.class"

export const ingressKind: Kind = {
  defaults: { make: { spec: {}, status: { make: { loadBalancer: {} } } } },
  newStatus: () => ({ loadBalancer: {} }),
  generation: ["spec"],
  check: (object, errors) => {
    const spec = child(object, "spec")
    const backend = child(spec, "defaultBackend")
    const rules = items(spec, "rules")
    if (rules.length === 0 && backend === undefined)
      errors.push(invalid("spec", null, "either `defaultBackend` or `rules` must be specified"))
    if (backend !== undefined) checkBackend(backend, "spec.defaultBackend", errors)
    for (const [index, rule] of rules.entries()) {
      checkRuleHost(text(rule, "host"), `spec.rules[${index}].host`, errors)
      const http = child(rule, "http")
      if (http !== undefined) checkPaths(http, `spec.rules[${index}].http`, errors)
    }
    for (const [index, tls] of items(spec, "tls").entries()) {
      const place = `spec.tls[${index}]`
      for (const [position, host] of texts(tls, "hosts").entries())
        errors.push(...invalidEach(`${place}.hosts[${position}]`, host, hostComplaints(host)))
      const secret = text(tls, "secretName")
      if (secret !== "") errors.push(...invalidEach(`${place}.secretName`, secret, subdomainComplaints(secret)))
    }
    const className = spec?.ingressClassName
    if (typeof className === "string")
      errors.push(...invalidEach("spec.ingressClassName", className, subdomainComplaints(className)))
  },
  checkNew: (object, errors) => {
    const annotation = at(object, "metadata", "annotations")?.[classAnnotation]
    const className = child(object, "spec")?.ingressClassName
    if (typeof annotation === "string" && !isAbsent(className) && annotation !== className)
      errors.push(
        invalid(`annotations.${classAnnotation}`, annotation, "must match `ingressClassName` when both are specified"),
      )
  },
  checkStatus: (object, _old, errors) => {
    for (const [index, entry] of items(at(object, "status", "loadBalancer"), "ingress").entries()) {
      const place = `status.loadBalancer.ingress[${index}]`
      const [ip, hostname] = [text(entry, "ip"), text(entry, "hostname")]
      if (ip !== "" && isIP(ip) === 0)
        errors.push(invalid(`${place}.ip`, ip, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"))
      if (hostname === "") continue
      errors.push(...invalidEach(`${place}.hostname`, hostname, subdomainComplaints(hostname)))
      if (isIP(hostname) !== 0) errors.push(invalid(`${place}.hostname`, hostname, noAddress))
    }
  },
}

const noAddress = "must be a DNS name, not an IP address"

const hostComplaints = (host: string) =>
  host.includes("*") ? wildcardSubdomainComplaints(host) : subdomainComplaints(host)

const checkRuleHost = (host: string, field: string, errors: Errors): void => {
  if (host === "") return
  if (isIP(host) !== 0) errors.push(invalid(field, host, noAddress))
  errors.push(...invalidEach(field, host, hostComplaints(host)))
}

const checkPaths = (http: Fields, field: string, errors: Errors): void => {
  const paths = items(http, "paths")
  if (paths.length === 0) errors.push(required(`${field}.paths`))
  for (const [index, path] of paths.entries()) checkPath(path, `${field}.paths[${index}]`, errors)
}

const checkPath = (object: Fields, field: string, errors: Errors): void => {
  const { pathType } = object
  if (isAbsent(pathType)) return void errors.push(required(`${field}.pathType`, "pathType must be specified"))
  const path = text(object, "path")
  const say = (detail: string): void => void errors.push(invalid(`${field}.path`, path, detail))
  if (!pathTypes.includes(String(pathType))) errors.push(notSupported(`${field}.pathType`, pathType, pathTypes))
  else if (pathType === "ImplementationSpecific") {
    if (path !== "" && !path.startsWith("/")) say("must be an absolute path")
  } else {
    if (!path.startsWith("/")) say("must be an absolute path")
    for (const part of notInPaths) if (path.includes(part)) say(`must not contain '${part}'`)
    for (const end of notAtEnds) if (path.endsWith(end)) say(`cannot end with '${end}'`)
  }
  checkBackend(child(object, "backend") ?? {}, `${field}.backend`, errors)
}

const checkBackend = (backend: Fields, field: string, errors: Errors): void => {
  const [resource, service] = [child(backend, "resource"), child(backend, "service")]
  const say = (detail: string): void => void errors.push(invalid(field, "", detail))
  if (resource !== undefined && service !== undefined) return say("cannot set both resource and service backends")
  if (resource !== undefined) return checkReference(resource, `${field}.resource`, errors)
  if (service === undefined) return say("resource or service backend is required")
  const name = text(service, "name")
  if (name === "") errors.push(required(`${field}.service.name`))
  else errors.push(...invalidEach(`${field}.service.name`, name, hostLabelComplaints(name)))
  const port = child(service, "port")
  const [portName, portNumber] = [text(port, "name"), number(port, "number") ?? 0]
  if (portName !== "" && portNumber !== 0) say("cannot set both port name & port number")
  else if (portName !== "")
    errors.push(...invalidEach(`${field}.service.port.name`, portName, portNameComplaints(portName)))
  else if (portNumber !== 0)
    errors.push(...invalidEach(`${field}.service.port.number`, portNumber, portComplaints(portNumber)))
  else errors.push(required(field, "port name or number is required"))
}

const checkReference = (reference: Fields, field: string, errors: Errors): void => {
  const { apiGroup } = reference
  if (typeof apiGroup === "string")
    errors.push(...invalidEach(`${field}.apiGroup`, apiGroup, subdomainComplaints(apiGroup)))
  for (const key of ["kind", "name"]) {
    const value = text(reference, key)
    if (value === "") errors.push(required(`${field}.${key}`))
    else errors.push(...invalidEach(`${field}.${key}`, value, pathSegmentComplaints(value)))
  }
}

const longestController = 250

export const ingressClassKind: Kind = {
  defaults: { make: { spec: { within: { parameters: { set: { scope: "Cluster" } } } } } },
  generation: ["spec"],
  check: (object, errors) => {
    const spec = child(object, "spec")
    const controller = text(spec, "controller")
    if (controller.length > longestController) errors.push(tooLong("spec.controller", longestController))
    if (controller === "") errors.push(required("spec.controller"))
    else if (!/^[^/]+\/./.test(controller))
      errors.push(invalid("spec.controller", controller, 'must be a domain-prefixed path (such as "acme.io/foo")'))
    else {
      const host = controller.slice(0, controller.indexOf("/"))
      errors.push(...invalidEach("spec.controller", host, subdomainComplaints(host)))
    }
    const parameters = child(spec, "parameters")
    if (parameters === undefined) return
    checkReference(parameters, "spec.parameters", errors)
    const isNamespaced = text(parameters, "scope") === "Namespace"
    if (isNamespaced && text(parameters, "namespace") === "")
      errors.push(required("spec.parameters.namespace", "`parameters.scope` is set to 'Namespace'"))
  },
  checkChange: (object, old, errors) => {
    const [now, before] = [child(object, "spec")?.controller, child(old, "spec")?.controller]
    if (!isSame(now, before)) errors.push(immutable("spec.controller", now))
  },
}
