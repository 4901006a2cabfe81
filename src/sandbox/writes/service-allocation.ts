/** Addresses and node ports of Services: taken from injected pools after the object has been validated. */
import { type Errors, type FieldError, invalid } from "../../apiserver/index.ts"
import { child, isZero, items, number, text, texts } from "../rules/fields.ts"
import type { MutableObject } from "../rules/kind-rules.ts"
import { isHeadless, needsClusterIp, needsNodePort } from "../rules/services.ts"

/** A pool of addresses or ports. */
export interface Pool<Value> {
  /** Takes a free value; `undefined` if there is none. */
  next(): Value | undefined
  /** Takes this value; returns why it could not be taken, in the server's words, or `undefined` on success. */
  take(value: Value): string | undefined
  /** Returns a value to the pool; has no effect if it was not taken. */
  release(value: Value): void
}

export interface ServicePools {
  readonly clusterIps: Pool<string>
  readonly nodePorts: Pool<number>
}

/** The values that a Service holds. */
const addressesOf = (service: MutableObject | undefined): ReadonlyArray<string> =>
  texts(child(service, "spec"), "clusterIPs").filter((address) => address !== "None")
const portsOf = (service: MutableObject | undefined): ReadonlyArray<number> =>
  items(child(service, "spec"), "ports").flatMap((entry) => {
    const port = number(entry, "nodePort") ?? 0
    return port === 0 ? [] : [port]
  })

/**
 * Fills in the addresses and ports that the Service leaves to the server, and takes those that it requests from the
 * pools. With `old`, only what the update adds is taken; what it drops is released by {@link releaseService} once the
 * write has succeeded. After an error nothing remains taken.
 */
export const allocateService = (
  service: MutableObject,
  old: MutableObject | undefined,
  pools: ServicePools,
): ReadonlyArray<FieldError> => {
  const errors: Errors = []
  const undo: Array<() => void> = []
  const spec = child(service, "spec")
  if (spec === undefined) return errors
  if (needsClusterIp(spec)) {
    spec.ipFamilies ??= ["IPv4"]
    spec.ipFamilyPolicy ??= "SingleStack"
    if (!isHeadless(spec)) takeAddress(service, old, pools, errors, undo)
  }
  if (needsNodePort(spec)) takePorts(service, old, pools, errors, undo)
  if (errors.length > 0) for (const action of undo) action()
  return errors
}

const takeAddress = (
  service: MutableObject,
  old: MutableObject | undefined,
  { clusterIps }: ServicePools,
  errors: Errors,
  undo: Array<() => void>,
): void => {
  const spec = child(service, "spec") ?? {}
  const wanted = text(spec, "clusterIP")
  if (wanted !== "" && addressesOf(old).includes(wanted)) return
  const problem = wanted === "" ? undefined : clusterIps.take(wanted)
  const taken = wanted === "" ? clusterIps.next() : wanted
  if (problem !== undefined)
    errors.push(invalid("spec.clusterIPs", [wanted], `failed to allocate IP ${wanted}: ${problem}`))
  else if (taken === undefined)
    errors.push(invalid("spec.clusterIPs", [""], "failed to allocate a serviceIP: range is full"))
  else {
    spec.clusterIP = taken
    spec.clusterIPs = [taken]
    undo.push(() => clusterIps.release(taken))
  }
}

const takePorts = (
  service: MutableObject,
  old: MutableObject | undefined,
  { nodePorts }: ServicePools,
  errors: Errors,
  undo: Array<() => void>,
): void => {
  const held = new Set(portsOf(old))
  for (const [index, entry] of items(child(service, "spec"), "ports").entries()) {
    const wanted = number(entry, "nodePort") ?? 0
    if (wanted !== 0 && held.has(wanted)) continue
    const field = `spec.ports[${index}].nodePort`
    const problem = wanted === 0 ? undefined : nodePorts.take(wanted)
    const taken = isZero(wanted) ? nodePorts.next() : wanted
    if (problem !== undefined) errors.push(invalid(field, wanted, problem))
    else if (taken === undefined) errors.push(invalid(field, 0, "failed to allocate a nodePort: range is full"))
    else {
      entry.nodePort = taken
      undo.push(() => nodePorts.release(taken))
    }
  }
}

/** Releases what `old` held and `service` (absent: deleted) no longer holds. */
export const releaseService = (old: MutableObject, service: MutableObject | undefined, pools: ServicePools): void => {
  const [addresses, ports] = [new Set(addressesOf(service)), new Set(portsOf(service))]
  for (const address of addressesOf(old)) if (!addresses.has(address)) pools.clusterIps.release(address)
  for (const port of portsOf(old)) if (!ports.has(port)) pools.nodePorts.release(port)
}

// The pools of Services' addresses and ports. As small as the real server's usual range, allocated in order.

/** 10.0.0.0/24 without its first address, which is the API server's own, and its last. */
const firstAddress = 2
const lastAddress = 254
const firstPort = 30_000
const lastPort = 32_767

export const servicePools = (): ServicePools => ({
  clusterIps: new NumberPool({
    first: firstAddress,
    last: lastAddress,
    shown: (value) => `10.0.0.${value}`,
    read: (text) => (text.startsWith("10.0.0.") ? Number(text.slice("10.0.0.".length)) : Number.NaN),
    outside: "the provided network does not match the current range",
    taken: "provided IP is already allocated",
  }),
  nodePorts: new NumberPool({
    first: firstPort,
    last: lastPort,
    shown: (value) => value,
    read: (value) => value,
    outside: `provided port is not in the valid range. The range of valid ports is ${firstPort}-${lastPort}`,
    taken: "provided port is already allocated",
  }),
})

interface NumberRange<Value> {
  readonly first: number
  readonly last: number
  readonly shown: (value: number) => Value
  readonly read: (shown: Value) => number
  /** Why a value cannot be taken. */
  readonly outside: string
  readonly taken: string
}

class NumberPool<Value> implements Pool<Value> {
  readonly #range: NumberRange<Value>
  readonly #used = new Set<number>()
  #next: number

  constructor(range: NumberRange<Value>) {
    this.#range = range
    this.#next = range.first
  }

  next(): Value | undefined {
    const { first, last, shown } = this.#range
    for (let tried = first; tried <= last; tried++) {
      const value = this.#next
      this.#next = value === last ? first : value + 1
      if (this.#used.has(value)) continue
      this.#used.add(value)
      return shown(value)
    }
    return undefined
  }

  take(shown: Value): string | undefined {
    const { first, last, read, outside, taken } = this.#range
    const value = read(shown)
    if (!(value >= first && value <= last)) return outside
    if (this.#used.has(value)) return taken
    this.#used.add(value)
    return undefined
  }

  release(shown: Value): void {
    this.#used.delete(this.#range.read(shown))
  }
}
