import {
  duplicate,
  type Errors,
  forbidden,
  invalid,
  invalidEach,
  notSupported,
  required,
} from "../../../apiserver/answers/field-error.ts"
import { environmentNameComplaints, labelComplaints, portComplaints, portNameComplaints } from "../../../kube/names.ts"
import { canonicalQuantity, quantityOf } from "../../../kube/quantity.ts"
import { child, isAbsent, items, number, text } from "../fields.ts"
import type { Fields } from "../kind-rules.ts"
import { checkProbes, probes } from "./probe-validation.ts"
import { checkMounts } from "./volume-validation.ts"

export const portProtocols = ["SCTP", "TCP", "UDP"]
const terminationPolicies = ["File", "FallbackToLogsOnError"]
const pullPolicies = ["Always", "IfNotPresent", "Never"]

const checkCommon = (container: Fields, volumes: ReadonlySet<string>, field: string, errors: Errors): void => {
  const name = text(container, "name")
  if (name === "") errors.push(required(`${field}.name`))
  else errors.push(...invalidEach(`${field}.name`, name, labelComplaints(name)))
  if (text(container, "image") === "") errors.push(required(`${field}.image`))
  const termination = text(container, "terminationMessagePolicy")
  if (!terminationPolicies.includes(termination))
    errors.push(notSupported(`${field}.terminationMessagePolicy`, termination, terminationPolicies))
  checkPorts(container, `${field}.ports`, errors)
  checkEnvironment(container, `${field}.env`, errors)
  checkMounts(container, volumes, `${field}.volumeMounts`, errors)
  const pull = text(container, "imagePullPolicy")
  if (!pullPolicies.includes(pull)) errors.push(notSupported(`${field}.imagePullPolicy`, pull, pullPolicies))
  checkResources(child(container, "resources"), `${field}.resources`, errors)
}

const checkPorts = (container: Fields, field: string, errors: Errors): void => {
  const names = new Set<string>()
  for (const [index, port] of items(container, "ports").entries()) {
    const place = `${field}[${index}]`
    const name = text(port, "name")
    const complaints = name === "" ? [] : portNameComplaints(name)
    errors.push(...invalidEach(`${place}.name`, name, complaints))
    if (name !== "" && complaints.length === 0) {
      if (names.has(name)) errors.push(duplicate(`${place}.name`, name))
      names.add(name)
    }
    const open = number(port, "containerPort") ?? 0
    if (open === 0) errors.push(required(`${place}.containerPort`))
    else errors.push(...invalidEach(`${place}.containerPort`, open, portComplaints(open)))
    const host = number(port, "hostPort") ?? 0
    if (host !== 0) errors.push(...invalidEach(`${place}.hostPort`, host, portComplaints(host)))
    const protocol = text(port, "protocol")
    if (protocol === "") errors.push(required(`${place}.protocol`))
    else if (!portProtocols.includes(protocol)) errors.push(notSupported(`${place}.protocol`, protocol, portProtocols))
  }
}

const valueSources = ["fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef"]
/** The fields of its pod that an environment variable may refer to. */
const fieldPaths = [
  "metadata.name",
  "metadata.namespace",
  "metadata.uid",
  "spec.hostIP",
  "spec.nodeName",
  "spec.podIP",
  "spec.podIPs",
  "spec.serviceAccountName",
  "status.hostIP",
  "status.hostIPs",
  "status.podIP",
  "status.podIPs",
]
const readableFields = [
  "metadata.name",
  "metadata.namespace",
  "metadata.uid",
  "spec.nodeName",
  "spec.serviceAccountName",
  "status.hostIP",
  "status.hostIPs",
  "status.podIP",
  "status.podIPs",
]

const checkEnvironment = (container: Fields, field: string, errors: Errors): void => {
  for (const [index, variable] of items(container, "env").entries()) {
    const place = `${field}[${index}]`
    const name = text(variable, "name")
    if (name === "") errors.push(required(`${place}.name`))
    else errors.push(...invalidEach(`${place}.name`, name, environmentNameComplaints(name)))
    const source = child(variable, "valueFrom")
    if (source !== undefined) checkValueSource(source, text(variable, "value"), `${place}.valueFrom`, errors)
  }
}

const checkValueSource = (source: Fields, value: string, field: string, errors: Errors): void => {
  const given = valueSources.filter((key) => child(source, key) !== undefined)
  const reference = child(source, "fieldRef")
  if (reference !== undefined) checkFieldReference(reference, `${field}.fieldRef`, errors)
  for (const key of ["configMapKeyRef", "secretKeyRef"]) {
    const selector = child(source, key)
    if (selector === undefined) continue
    if (text(selector, "name") === "") errors.push(required(`${field}.${key}.name`))
    if (text(selector, "key") === "") errors.push(required(`${field}.${key}.key`))
  }
  if (given.length === 0)
    errors.push(
      invalid(field, "", "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`"),
    )
  else if (value !== "") errors.push(invalid(field, "", "may not be specified when `value` is not empty"))
  else if (given.length > 1) errors.push(invalid(field, "", "may not have more than one field specified at a time"))
}

const checkFieldReference = (reference: Fields, field: string, errors: Errors): void => {
  const path = text(reference, "fieldPath")
  if (path === "") errors.push(required(`${field}.fieldPath`))
  else if (/^metadata\.(annotations|labels)\['[^']+'\]$/.test(path)) return
  else if (!fieldPaths.includes(path))
    errors.push(invalid(`${field}.fieldPath`, path, `error converting fieldPath: field label not supported: ${path}`))
  else if (!readableFields.includes(path)) errors.push(notSupported(`${field}.fieldPath`, path, readableFields))
}

/** Quantities are printed in canonical form. */
const checkResources = (resources: Fields | undefined, field: string, errors: Errors): void => {
  const limits = child(resources, "limits") ?? {}
  const requests = child(resources, "requests") ?? {}
  const checkAmountOf = (amounts: Fields, name: string, place: string): void => {
    const amount = quantityOf(amounts[name])
    if (amount !== undefined && amount < 0)
      errors.push(invalid(`${place}[${name}]`, canonicalQuantity(amounts[name]), "must be greater than or equal to 0"))
  }
  for (const name of Object.keys(limits).sort()) checkAmountOf(limits, name, `${field}.limits`)
  for (const name of Object.keys(requests).sort()) {
    checkAmountOf(requests, name, `${field}.requests`)
    const [wanted, limit] = [quantityOf(requests[name]), quantityOf(limits[name])]
    if (wanted !== undefined && limit !== undefined && wanted > limit)
      errors.push(
        invalid(
          `${field}.requests`,
          canonicalQuantity(requests[name]),
          `must be less than or equal to ${name} limit of ${String(canonicalQuantity(limits[name]))}`,
        ),
      )
  }
}

const checkHostPorts = (containers: ReadonlyArray<Fields>, field: string, errors: Errors): void => {
  const taken = new Set<string>()
  for (const [index, container] of containers.entries())
    for (const [position, port] of items(container, "ports").entries()) {
      const host = number(port, "hostPort") ?? 0
      if (host === 0) continue
      const key = `${text(port, "protocol")}/${text(port, "hostIP")}/${host}`
      if (taken.has(key)) errors.push(duplicate(`${field}[${index}].ports[${position}].hostPort`, key))
      taken.add(key)
    }
}

/** Regular and init containers. */
export const checkContainers = (spec: Fields, volumes: ReadonlySet<string>, field: string, errors: Errors): void => {
  const containers = items(spec, "containers")
  const names = new Set<string>()
  if (containers.length === 0) errors.push(required(`${field}.containers`))
  for (const [index, container] of containers.entries()) {
    const place = `${field}.containers[${index}]`
    checkCommon(container, volumes, place, errors)
    const name = text(container, "name")
    if (names.has(name)) errors.push(duplicate(`${place}.name`, name))
    names.add(name)
    checkProbes(container, place, errors)
    if (!isAbsent(container.restartPolicy))
      errors.push(forbidden(`${place}.restartPolicy`, "may not be set for non-init containers"))
  }
  checkHostPorts(containers, `${field}.containers`, errors)
  for (const [index, container] of items(spec, "initContainers").entries())
    checkInitContainer(container, names, volumes, `${field}.initContainers[${index}]`, errors)
}

const checkInitContainer = (
  container: Fields,
  names: Set<string>,
  volumes: ReadonlySet<string>,
  field: string,
  errors: Errors,
): void => {
  checkCommon(container, volumes, field, errors)
  const restart = container.restartPolicy
  if (!isAbsent(restart) && restart !== "Always")
    errors.push(notSupported(`${field}.restartPolicy`, restart, ["Always"]))
  const name = text(container, "name")
  if (names.has(name)) errors.push(duplicate(`${field}.name`, name))
  names.add(name)
  checkHostPorts([container], field.replace(/\[\d+\]$/, ""), errors)
  if (restart === "Always") checkProbes(container, field, errors)
  else
    for (const key of ["lifecycle", ...probes])
      if (!isAbsent(container[key]))
        errors.push(forbidden(`${field}.${key}`, "may not be set for init containers without restartPolicy=Always"))
}
