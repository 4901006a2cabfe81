/** The result of our rules for a case, in the form of the recorded responses. */

import { type Failure, statusText } from "../../../src/apiserver/answers/failure.ts"
import type { Resource } from "../../../src/apiserver/kinds/resources.ts"
import { rulesOf } from "../../../src/sandbox/rules/index.ts"
import type { Fields, MutableObject } from "../../../src/sandbox/rules/kind-rules.ts"
import { type AdmissionSurroundings, admitCreate, admitUpdate } from "../../../src/sandbox/writes/admission.ts"
import { allocateService, type ServicePools } from "../../../src/sandbox/writes/service-allocation.ts"
import { invalidObject } from "../../../src/sandbox/writes/write-failures.ts"
import { clusterIp, firstNodePort, type Json, type RecordedCase, suffix, time, uid } from "./recorded-case.ts"
import { clusterScoped, customGroup, merged, namespace, type RulesCase } from "./rules-case.ts"

export interface LocalAnswer {
  readonly status: number
  readonly answer: Json
}

const kindNames: ReadonlyMap<string, string> = new Map(
  (
    "Pod Service ConfigMap Secret ServiceAccount Namespace Node PersistentVolume PersistentVolumeClaim Event " +
    "PodTemplate ResourceQuota LimitRange ReplicationController Deployment ReplicaSet StatefulSet DaemonSet ControllerRevision Job " +
    "CronJob PodDisruptionBudget Role ClusterRole RoleBinding ClusterRoleBinding Lease CSIDriver CSINode " +
    "VolumeAttachment HorizontalPodAutoscaler CustomResourceDefinition"
  )
    .split(" ")
    .map((kind): [string, string] => [`${kind.toLowerCase()}s`, kind])
    .concat([
      ["doors", "Door"],
      ["windows", "Window"],
      ["endpoints", "Endpoints"],
      ["priorityclasses", "PriorityClass"],
      ["storageclasses", "StorageClass"],
    ]),
)

export const resourceAt = (path: string): Resource => {
  const parts = path.split("/")
  const plural = parts.at(-1) ?? ""
  const [group, version] = parts.length === 2 ? ["", parts[0]] : [parts[0], parts[1]]
  const gvk = { group: group ?? "", version: version ?? "", kind: kindNames.get(plural) ?? "" }
  const namespaced = !clusterScoped.has(plural)
  if (group !== customGroup) return { gvk, plural, namespaced }
  return { gvk, plural, namespaced, custom: true, subresources: plural === "doors" ? ["status"] : [] }
}

const surroundings: AdmissionSurroundings = {
  suffix: () => suffix,
  serviceAccount: (_namespace, name) => (name === "default" ? {} : undefined),
  priorityClass: () => undefined,
  defaultStorageClass: () => undefined,
}

/** The real server was started with the range 10.0.0.0/24. */
const pools = (): ServicePools => {
  let nodePort = firstNodePort
  return {
    clusterIps: {
      next: () => clusterIp,
      take: (address) =>
        address.startsWith("10.0.0.")
          ? undefined
          : `the provided IP (${address}) is not in the valid range. The range of valid IPs is 10.0.0.0/24`,
      release: () => undefined,
    },
    nodePorts: { next: () => nodePort++, take: () => undefined, release: () => undefined },
  }
}

const decoded = (resource: Resource, object: Fields): MutableObject => {
  const { group, version, kind } = resource.gvk
  // Through JSON: the cases share subtrees, and a request does not.
  const copy = JSON.parse(JSON.stringify(object)) as Fields
  const metadata = copy.metadata as Fields
  return {
    ...copy,
    apiVersion: group === "" ? version : `${group}/${version}`,
    kind,
    metadata: resource.namespaced ? { namespace, ...metadata } : metadata,
  }
}

const failed = (failure: Failure): LocalAnswer => ({
  status: failure.code,
  answer: JSON.parse(statusText(failure).replace(/(x{200})x+/g, "$1…")) as Json,
})
const stored = (status: number, object: MutableObject): LocalAnswer => ({
  status,
  answer: JSON.parse(JSON.stringify(object)) as Json,
})

const created = (resource: Resource, sent: Fields): LocalAnswer => {
  const rules = rulesOf(resource)
  const object = decoded(resource, sent)
  const { metadata } = object
  rules.setDefaults(object)
  const refusal = admitCreate(resource, object, surroundings)
  if (refusal !== undefined) return failed(refusal)
  metadata.uid = uid
  metadata.creationTimestamp = time
  if (metadata.name === undefined && metadata.generateName !== undefined)
    metadata.name = `${metadata.generateName}${suffix}`
  rules.prepareForCreate(object)
  rules.readBack(object)
  const errors = rules.validate(object)
  const problems =
    errors.length > 0 || resource.plural !== "services" ? errors : allocateService(object, undefined, pools())
  if (problems.length > 0) return failed(invalidObject(resource, String(metadata.name ?? ""), problems))
  return stored(201, object)
}

const updated = (resource: Resource, { object: sent, update }: RulesCase, before: Json): LocalAnswer => {
  const rules = rulesOf(resource)
  const old: MutableObject = { ...before, metadata: { ...(before.metadata as Fields), resourceVersion: "1" } }
  const kept = JSON.stringify(old)
  const base = update?.base === "stored" ? old : sent
  const object = decoded(resource, merged(base, update?.change ?? {}))
  object.metadata.resourceVersion = "1"
  rules.setDefaults(object)
  admitUpdate(resource, object, update?.subresource ?? "")
  rules.prepareForUpdate(object, old, update?.subresource ?? "")
  rules.settleUpdate(object, old, update?.subresource ?? "")
  rules.readBack(object)
  const errors = rules.validateUpdate(object, old, update?.subresource ?? "")
  const problems = errors.length > 0 || resource.plural !== "services" ? errors : allocateService(object, old, pools())
  if (JSON.stringify(old) !== kept) throw new Error("the stored object was changed")
  if (problems.length > 0) return failed(invalidObject(resource, String(object.metadata.name), problems))
  delete object.metadata.resourceVersion
  return stored(200, object)
}

export const localAnswer = (rulesCase: RulesCase, recorded: RecordedCase): LocalAnswer => {
  const resource = resourceAt(rulesCase.path)
  return recorded.old === undefined ? created(resource, rulesCase.object) : updated(resource, rulesCase, recorded.old)
}
