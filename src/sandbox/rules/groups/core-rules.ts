/** The small kinds of the core group: ConfigMap, Secret, ServiceAccount, Namespace, Node. */

import {
  duplicate,
  type Errors,
  forbidden,
  immutable,
  invalid,
  invalidEach,
  notSupported,
  required,
  tooLong,
} from "../../../apiserver/answers/field-error.ts"
import { configKeyComplaints, labelComplaints, qualifiedNameComplaints } from "../../../kube/names.ts"
import { child, ensured, isAbsent, isFields, isSame, items, list, own, spellAmounts, text, texts } from "../fields.ts"
import type { Kind } from "../kind.ts"
import type { Fields, MutableObject } from "../kind-rules.ts"

/** bytes: etcd's limit, less some room for the rest of the object. */
const dataBytes = 1024 * 1024

const sortedKeys = (map: Fields | undefined): ReadonlyArray<string> => Object.keys(map ?? {}).sort()
const bytesOf = (base64: unknown): number => (typeof base64 === "string" ? Buffer.byteLength(base64, "base64") : 0)

const dropEmpty = (object: Fields, keys: ReadonlyArray<string>): void => {
  for (const key of keys) {
    const value = object[key]
    if (isFields(value) && Object.keys(value).length === 0) delete object[key]
  }
}

/** An immutable object stays immutable, with all its data. */
const checkImmutable =
  (members: ReadonlyArray<string>) =>
  (object: MutableObject, old: MutableObject, errors: Errors): void => {
    if (old.immutable !== true) return
    const fixed = "field is immutable when `immutable` is set"
    if (object.immutable !== true) errors.push(forbidden("immutable", fixed))
    for (const key of members) if (!isSame(object[key], old[key])) errors.push(forbidden(key, fixed))
  }

export const configMapKind: Kind = {
  defaults: { derive: (object) => dropEmpty(object, ["data", "binaryData"]) },
  check: (object, errors) => {
    const [data, binary] = [child(object, "data"), child(object, "binaryData")]
    let bytes = 0
    for (const key of sortedKeys(data)) {
      errors.push(...invalidEach(`data[${key}]`, key, configKeyComplaints(key)))
      if (own(binary, key) !== undefined)
        errors.push(invalid(`data[${key}]`, key, "duplicate of key present in binaryData"))
      bytes += Buffer.byteLength(String(own(data, key)))
    }
    for (const key of sortedKeys(binary)) {
      errors.push(...invalidEach(`binaryData[${key}]`, key, configKeyComplaints(key)))
      bytes += bytesOf(own(binary, key))
    }
    if (bytes > dataBytes) errors.push(tooLong("[]", dataBytes))
  },
  checkChange: checkImmutable(["data", "binaryData"]),
}

/** Keys that a Secret of each type must have. */
const secretKeys: ReadonlyMap<string, ReadonlyArray<string>> = new Map([
  ["kubernetes.io/ssh-auth", ["ssh-privatekey"]],
  ["kubernetes.io/tls", ["tls.crt", "tls.key"]],
  ["kubernetes.io/dockercfg", [".dockercfg"]],
  ["kubernetes.io/dockerconfigjson", [".dockerconfigjson"]],
])
const accountAnnotation = "kubernetes.io/service-account.name"

const isJson = (content: string): boolean => {
  try {
    JSON.parse(content)
    return true
  } catch (_notJson) {
    return false
  }
}

const checkSecretType = (object: MutableObject, errors: Errors): void => {
  const type = text(object, "type")
  const data = child(object, "data")
  const lacks = (key: string): boolean => own(data, key) === undefined
  for (const key of secretKeys.get(type) ?? []) {
    if (lacks(key)) errors.push(required(`data[${key}]`))
    else if (key.startsWith(".docker") && !isJson(Buffer.from(text(data, key), "base64").toString("utf8")))
      errors.push(invalid(`data[${key}]`, "<secret contents redacted>", "must be JSON"))
  }
  if (type === "kubernetes.io/basic-auth" && lacks("username") && lacks("password"))
    errors.push(required("data[username]"), required("data[password]"))
  const account = text(child(object.metadata, "annotations"), accountAnnotation)
  if (type === "kubernetes.io/service-account-token" && account === "")
    errors.push(required(`metadata.annotations[${accountAnnotation}]`))
}

export const secretKind: Kind = {
  defaults: {
    set: { type: "Opaque" },
    derive: (object) => {
      const strings = child(object, "stringData")
      if (strings !== undefined) {
        const encoded = Object.entries(strings).map(([key, value]): [string, string] => [
          key,
          Buffer.from(String(value ?? "")).toString("base64"),
        ])
        object.data = Object.fromEntries([...Object.entries(child(object, "data") ?? {}), ...encoded])
      }
      delete object.stringData
      dropEmpty(object, ["data"])
    },
  },
  check: (object, errors) => {
    const data = child(object, "data")
    let bytes = 0
    for (const key of sortedKeys(data)) {
      errors.push(...invalidEach(`data[${key}]`, key, configKeyComplaints(key)))
      bytes += bytesOf(own(data, key))
    }
    if (bytes > dataBytes) errors.push(tooLong("data", dataBytes))
    checkSecretType(object, errors)
  },
  checkChange: (object, old, errors) => {
    if (object.type !== old.type) errors.push(immutable("type", object.type))
    checkImmutable(["data"])(object, old, errors)
  },
}

const checkFinalizer = (name: string, errors: Errors): void => {
  errors.push(...invalidEach("spec.finalizers", name, qualifiedNameComplaints(name)))
  if (!name.includes("/") && !["kubernetes", "orphan", "foregroundDeletion"].includes(name))
    errors.push(invalid("spec.finalizers", name, "name is neither a standard finalizer name nor is it fully qualified"))
}

export const namespaceKind: Kind = {
  name: labelComplaints,
  defaults: {
    make: { spec: {}, status: { set: { phase: "Active" } } },
    derive: (object) => {
      const metadata = ensured(object, "metadata")
      const name = text(metadata, "name")
      if (name !== "") ensured(metadata, "labels")["kubernetes.io/metadata.name"] = name
    },
  },
  newStatus: () => ({ phase: "Active" }),
  prepareCreate: (object) => {
    // The name may have been generated after the defaults were set.
    ensured(object.metadata, "labels")["kubernetes.io/metadata.name"] = object.metadata.name
    const spec = ensured(object, "spec")
    const finalizers = texts(spec, "finalizers")
    if (!finalizers.includes("kubernetes")) spec.finalizers = [...finalizers, "kubernetes"]
  },
  // Only the finalize endpoint changes them.
  prepareUpdate: (object, old) => {
    ensured(object, "spec").finalizers = child(old, "spec")?.finalizers
    if (isAbsent(child(object, "spec")?.finalizers)) delete child(object, "spec")?.finalizers
  },
  checkStatus: (object, _old, errors) => {
    const phase = text(child(object, "status"), "phase")
    const [right, not] = isAbsent(object.metadata.deletionTimestamp) ? ["Active", ""] : ["Terminating", "not "]
    if (phase !== right)
      errors.push(invalid("status.Phase", phase, `may only be '${right}' if \`deletionTimestamp\` is ${not}empty`))
  },
  checkNew: (object, errors) => {
    for (const name of texts(child(object, "spec"), "finalizers")) checkFinalizer(name, errors)
  },
}

const nodeInformation = [
  "machineID",
  "systemUUID",
  "bootID",
  "kernelVersion",
  "osImage",
  "containerRuntimeVersion",
  "kubeletVersion",
  "kubeProxyVersion",
  "operatingSystem",
  "architecture",
]
const taintEffects = ["NoSchedule", "PreferNoSchedule", "NoExecute"]

const checkTaints = (object: MutableObject, errors: Errors): void => {
  const seen = new Set<string>()
  for (const [index, taint] of items(child(object, "spec"), "taints").entries()) {
    const place = `metadata.taints[${index}]`
    const [key, effect] = [text(taint, "key"), text(taint, "effect")]
    errors.push(...invalidEach(`${place}.key`, key, qualifiedNameComplaints(key)))
    if (effect === "") errors.push(required(`${place}.effect`))
    else if (!taintEffects.includes(effect)) errors.push(notSupported(`${place}.effect`, effect, taintEffects))
    if (seen.has(`${key}:${effect}`))
      errors.push({ ...duplicate(place, taint), detail: "taints must be unique by key and effect pair" })
    seen.add(`${key}:${effect}`)
  }
}

export const nodeKind: Kind = {
  defaults: {
    make: {
      spec: {
        derive: (spec) => {
          if (spec.unschedulable === false) delete spec.unschedulable
          if (text(spec, "podCIDR") !== "" && list(spec, "podCIDRs").length === 0) spec.podCIDRs = [spec.podCIDR]
        },
      },
      status: {
        make: {
          daemonEndpoints: { make: { kubeletEndpoint: { set: { Port: 0 } } } },
          nodeInfo: {
            derive: (info) => {
              for (const key of nodeInformation) info[key] ??= ""
            },
          },
        },
        within: { capacity: { derive: spellAmounts }, allocatable: { derive: spellAmounts } },
        derive: (status) => {
          const capacity = child(status, "capacity")
          if (capacity !== undefined && isAbsent(status.allocatable)) status.allocatable = { ...capacity }
        },
      },
    },
  },
  keepsStatus: true,
  check: checkTaints,
}
