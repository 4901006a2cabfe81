/** ConfigMaps and Secrets, Namespaces, Nodes, Events, and the limits of a namespace. */

import { tooLong } from "../../apiserver/index.ts"
import { configKeyComplaints, labelComplaints, qualifiedNameComplaints } from "../../kube/offline.ts"
import { sortedEntries, unique } from "./checks.ts"
import { child, emptyIsNone, ensured, isAbsent, isEmptyMap, isSame, list, own, text, texts } from "./fields.ts"
import type { CheckChange, Fields, Kind, MutableObject } from "./kind-rules.ts"
import type { Check, Place, RulesByType } from "./type-rules.ts"

/** bytes: etcd's limit, less some room for the rest of the object. */
const dataBytes = 1024 * 1024

/** The keys of data are names of files, and all data together must fit. */
const checkData = (object: Fields, members: ReadonlyArray<string>, at: Place, whole: string): void => {
  let bytes = 0
  for (const member of members)
    for (const [key, value] of sortedEntries(object[member])) {
      at.at(member, `[${key}]`).complain(key, configKeyComplaints(key))
      const isText = member === "data" && members.length > 1
      bytes += Buffer.byteLength(String(value), isText ? "utf8" : "base64")
    }
  if (bytes > dataBytes) at.add(tooLong(whole, dataBytes))
}

const checkConfigMap: Check = (_value, at, object) => {
  checkData(object, ["data", "binaryData"], at, "[]")
  const binary = child(object, "binaryData")
  for (const key of Object.keys(child(object, "data") ?? {}))
    if (own(binary, key) !== undefined) at.at("data", `[${key}]`).invalid(key, "duplicate of key present in binaryData")
}

/** Keys that a Secret of each type must have. */
const secretKeys: Readonly<Record<string, ReadonlyArray<string>>> = {
  "kubernetes.io/ssh-auth": ["ssh-privatekey"],
  "kubernetes.io/tls": ["tls.crt", "tls.key"],
  "kubernetes.io/dockercfg": [".dockercfg"],
  "kubernetes.io/dockerconfigjson": [".dockerconfigjson"],
}
const accountAnnotation = "kubernetes.io/service-account.name"

const checkSecret: Check = (_value, at, object) => {
  checkData(object, ["data"], at, "data")
  const [type, data] = [text(object, "type"), child(object, "data")]
  const place = (key: string): Place => at.at("data", `[${key}]`)
  for (const key of own(secretKeys, type) === undefined ? [] : (secretKeys[type] ?? [])) {
    if (own(data, key) === undefined) place(key).required()
  }
  const user = ["username", "password"]
  if (type === "kubernetes.io/basic-auth" && user.every((key) => own(data, key) === undefined))
    for (const key of user) place(key).required()
  const account = text(child(child(object, "metadata"), "annotations"), accountAnnotation)
  if (type === "kubernetes.io/service-account-token" && account === "")
    at.at("metadata", "annotations", `[${accountAnnotation}]`).required()
}

/** An immutable object stays immutable, with all its data. */
const checkImmutable: CheckChange = (object, old, root) => {
  if (old.immutable !== true) return
  const fixed = "field is immutable when `immutable` is set"
  if (object.immutable !== true) root.at("immutable").forbidden(fixed)
  for (const key of ["data", "binaryData"]) if (!isSame(object[key], old[key])) root.at(key).forbidden(fixed)
}

/** Go omits an empty map. */
const dropEmpty = (object: Fields, ...keys: ReadonlyArray<string>): void => {
  for (const key of keys) if (child(object, key) !== undefined && isEmptyMap(object[key])) delete object[key]
}

const deriveSecret = (secret: Fields): void => {
  const encoded = Object.entries(child(secret, "stringData") ?? {}).map(([key, value]): [string, string] => [
    key,
    Buffer.from(String(value ?? "")).toString("base64"),
  ])
  if (encoded.length > 0) secret.data = Object.fromEntries([...Object.entries(child(secret, "data") ?? {}), ...encoded])
  delete secret.stringData
  dropEmpty(secret, "data")
}

/** Also called when the name has been generated, after the defaults were set. */
const labelNamespace = (namespace: Fields): void => {
  const metadata = ensured(namespace, "metadata")
  if (text(metadata, "name") !== "") ensured(metadata, "labels")["kubernetes.io/metadata.name"] = metadata.name
}

/** Only the finalize endpoint changes them. */
const keepFinalizers = (namespace: MutableObject, old: MutableObject | undefined): void => {
  labelNamespace(namespace)
  const spec = ensured(namespace, "spec")
  const finalizers = texts(spec, "finalizers")
  if (old !== undefined) spec.finalizers = child(old, "spec")?.finalizers
  else if (!finalizers.includes("kubernetes")) spec.finalizers = [...finalizers, "kubernetes"]
  if (isAbsent(spec.finalizers)) delete spec.finalizers
}

const checkEventNamespace = (event: MutableObject, target: string, root: Place): void => {
  const involved = text(child(event, target), "namespace")
  const namespace = text(event.metadata, "namespace")
  const isDated = !isAbsent(event.eventTime)
  const homes = isDated ? ["default", "kube-system"] : ["", "default"]
  const fits = involved === "" ? homes.includes(namespace) : isDated || involved === namespace
  if (!fits) root.at("involvedObject", "namespace").invalid(involved, "does not match event.namespace")
}

/** Events with a precise time, as those of events.k8s.io, must say who reports them and why. */
const checkDatedEvent = (event: MutableObject, controller: string, root: Place): void => {
  if (isAbsent(event.eventTime)) return
  const name = text(event, controller)
  if (name === "") root.at(controller).required()
  root.at(controller).complain(name, qualifiedNameComplaints(name))
  for (const key of ["reportingInstance", "action", "reason"]) if (text(event, key) === "") root.at(key).required()
}

/** A limit replaces an absent default, a default an absent request. */
const fillLimits = (item: Fields): void => {
  if (item.type !== "Container") return
  const [standard, requests] = [ensured(item, "default"), ensured(item, "defaultRequest")]
  const fill = (into: Fields, from: Fields | undefined): void => {
    for (const key in from) if (!Object.hasOwn(into, key)) into[key] = from[key]
  }
  fill(standard, child(item, "max"))
  fill(requests, standard)
  fill(requests, child(item, "min"))
  dropEmpty(item, "default", "defaultRequest")
}

export const types: RulesByType = {
  "core/v1.ConfigMap": {
    derive: (object) => dropEmpty(object, "data", "binaryData"),
    checks: { self: checkConfigMap },
  },
  "core/v1.Secret": { derive: deriveSecret, checks: { self: checkSecret } },
  "core/v1.Namespace": { derive: labelNamespace },
  "core/v1.NodeSpec": {
    derive: (spec) => {
      if (text(spec, "podCIDR") !== "" && list(spec, "podCIDRs").length === 0) spec.podCIDRs = [spec.podCIDR]
    },
  },
  "core/v1.NodeStatus": {
    derive: (status) => {
      const capacity = child(status, "capacity")
      if (capacity !== undefined && isAbsent(status.allocatable)) status.allocatable = { ...capacity }
    },
  },
  "core/v1.LimitRangeSpec": { derive: emptyIsNone("limits"), checks: { limits: unique("type") } },
  "core/v1.LimitRangeItem": { derive: fillLimits },
}

export const kinds: Readonly<Record<string, Kind>> = {
  "/ConfigMap": { checkChange: checkImmutable },
  "/Secret": { checkChange: checkImmutable },
  "/Namespace": {
    name: labelComplaints,
    prepare: keepFinalizers,
  },
  "/Event": {
    checkNew: (event, root) => {
      checkEventNamespace(event, "involvedObject", root)
      checkDatedEvent(event, "reportingComponent", root)
    },
  },
  "events.k8s.io/Event": {
    checkNew: (event, root) => {
      checkEventNamespace(event, "regarding", root)
      checkDatedEvent(event, "reportingController", root)
      if (isAbsent(event.eventTime)) root.at("eventTime").required()
      const type = text(event, "type")
      if (type !== "Normal" && type !== "Warning") root.at("type").invalid("", `has invalid value: ${type}`)
    },
  },
}
