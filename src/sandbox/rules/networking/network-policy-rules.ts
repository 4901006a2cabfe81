/** NetworkPolicies: which ports and peers a rule may name. The sandbox enforces none. */

import { BlockList, isIP } from "node:net"
import {
  type Errors,
  forbidden,
  invalid,
  invalidEach,
  notSupported,
  required,
} from "../../../apiserver/answers/field-error.ts"
import { portComplaints, portNameComplaints } from "../../../kube/names.ts"
import type { DefaultTable } from "../default-table.ts"
import { child, isAbsent, items, list, number, text, texts } from "../fields.ts"
import type { Kind } from "../kind.ts"
import type { Fields } from "../kind-rules.ts"
import { portProtocols } from "../pods/container-validation.ts"
import { checkSelector } from "../values/selector-validation.ts"

const policyTypes = ["Egress", "Ingress"]

const rule: DefaultTable = { each: { ports: { set: { protocol: "TCP" } } } }

/** A policy without types is for incoming traffic, and for outgoing if it has rules for it. */
const derivePolicyTypes = (spec: Fields): void => {
  if (list(spec, "policyTypes").length > 0) return
  spec.policyTypes = list(spec, "egress").length > 0 ? ["Ingress", "Egress"] : ["Ingress"]
}

export const networkPolicyKind: Kind = {
  defaults: {
    make: { spec: { make: { podSelector: {} }, each: { ingress: rule, egress: rule }, derive: derivePolicyTypes } },
  },
  generation: ["spec"],
  check: (object, errors) => {
    const spec = child(object, "spec")
    checkSelector(child(spec, "podSelector"), "spec.podSelector", errors)
    for (const [direction, peers] of [
      ["ingress", "from"],
      ["egress", "to"],
    ] as const)
      for (const [index, each] of items(spec, direction).entries()) {
        const place = `spec.${direction}[${index}]`
        for (const [position, port] of items(each, "ports").entries())
          checkPort(port, `${place}.ports[${position}]`, errors)
        for (const [position, peer] of items(each, peers).entries())
          checkPeer(peer, `${place}.${peers}[${position}]`, errors)
      }
    const types = list(spec, "policyTypes")
    if (types.length > policyTypes.length)
      errors.push(invalid("spec.policyTypes", types, "may not specify more than two policyTypes"))
    else
      for (const [index, type] of types.entries())
        if (!policyTypes.includes(String(type)))
          errors.push(notSupported(`spec.policyTypes[${index}]`, type, policyTypes))
  },
}

const checkPort = (object: Fields, field: string, errors: Errors): void => {
  const { protocol, port } = object
  if (!isAbsent(protocol) && !portProtocols.includes(String(protocol)))
    errors.push(notSupported(`${field}.protocol`, protocol, portProtocols))
  const endPort = number(object, "endPort")
  if (typeof port === "number") {
    errors.push(...invalidEach(`${field}.port`, port, portComplaints(port)))
    if (endPort === undefined) return
    if (endPort < port) errors.push(invalid(`${field}.endPort`, port, "must be greater than or equal to `port`"))
    errors.push(...invalidEach(`${field}.endPort`, endPort, portComplaints(endPort)))
    return
  }
  if (endPort !== undefined) {
    const reason = typeof port === "string" ? "when `port` is non-numeric" : "when `port` is not specified"
    errors.push(invalid(`${field}.endPort`, endPort, `may not be specified ${reason}`))
  }
  if (typeof port === "string") errors.push(...invalidEach(`${field}.port`, port, portNameComplaints(port)))
}

const checkPeer = (peer: Fields, field: string, errors: Errors): void => {
  const selectors = ["podSelector", "namespaceSelector"].filter((key) => child(peer, key) !== undefined)
  for (const key of selectors) checkSelector(child(peer, key), `${field}.${key}`, errors)
  const block = child(peer, "ipBlock")
  if (block !== undefined) checkBlock(block, `${field}.ipBlock`, errors)
  else if (selectors.length === 0) errors.push(required(field, "must specify a peer"))
  if (block !== undefined && selectors.length > 0)
    errors.push(forbidden(field, "may not specify both ipBlock and another peer"))
}

const checkBlock = (block: Fields, field: string, errors: Errors): void => {
  const cidr = text(block, "cidr")
  if (cidr === "") return void errors.push(required(`${field}.cidr`))
  const range = rangeOf(cidr)
  if (range === undefined) return void errors.push(invalid(`${field}.cidr`, cidr, invalidCidr))
  for (const [index, except] of texts(block, "except").entries()) {
    const place = `${field}.except[${index}]`
    const inner = rangeOf(except)
    if (inner === undefined) errors.push(invalid(place, except, invalidCidr))
    else if (!isWithin(inner, range)) errors.push(invalid(place, except, "must be a strict subset of `cidr`"))
  }
}

const invalidCidr = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"

interface AddressRange {
  readonly address: string
  readonly family: "ipv4" | "ipv6"
  readonly prefix: number
}

const rangeOf = (cidr: string): AddressRange | undefined => {
  const [, address = "", digits = ""] = /^([^/]+)\/(\d{1,3})$/.exec(cidr) ?? []
  const version = isIP(address)
  const prefix = Number(digits)
  if (version === 0 || prefix > (version === 4 ? 32 : 128)) return undefined
  return { address, family: version === 4 ? "ipv4" : "ipv6", prefix }
}

const isWithin = (inner: AddressRange, outer: AddressRange): boolean => {
  if (inner.prefix <= outer.prefix) return false
  const block = new BlockList()
  block.addSubnet(outer.address, outer.prefix, outer.family)
  return block.check(inner.address, inner.family)
}
