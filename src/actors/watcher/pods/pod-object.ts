/** Reads from a Pod object only what its lifecycle consists of. */

import { NestingTooDeepError } from "../../../trace/formats/simkube/hash/simkube-hash.ts"
import { stablePodSpecHash } from "../../../trace/formats/simkube/hash/stable-pod-spec.ts"
import { isJsonObject, type JsonValue, MalformedJsonError, parseExactJson } from "../../../trace/json/exact-json.ts"
import { type ObservedLifetime, observeLifetime, type PodProblem } from "../../../trace/pods/pod-lifecycle.ts"
import { findPodStatus, readPodSpec, readPodStatus } from "../../../trace/pods/pod-text.ts"

/** One Pod object at `bytes[start, end)`, valid as long as these are. */
export class PodObject {
  readonly #bytes: Buffer
  readonly #start: number
  readonly #end: number
  /** Start of the status, −1 if the object must be read as a whole. */
  #status: number
  #isParsed = false
  #parsed: JsonValue | undefined
  #spec: JsonValue | undefined

  constructor(bytes: Buffer, start: number, end: number) {
    this.#bytes = bytes
    this.#start = start
    this.#end = end
    this.#status = findPodStatus(bytes, start, end)
  }

  get byteLength(): number {
    return this.#end - this.#start
  }

  /** `containers`: the number of main containers of the pod, if already known. */
  lifetime(containers: number | undefined): ObservedLifetime | PodProblem {
    const found = this.#status < 0 ? undefined : readPodStatus(this.#bytes, this.#status, this.#end)
    if (found === undefined) {
      this.#status = -1
      if (!isJsonObject(this.#whole())) return "the object cannot be read"
    }
    return observeLifetime(found ?? this.#member("status"), () => containers ?? this.mainContainers())
  }

  /** `undefined` if it cannot be read. */
  specHash(): bigint | undefined {
    const spec = this.#podSpec()
    if (spec === undefined && this.#whole() === undefined) return undefined
    try {
      return stablePodSpecHash(spec)
    } catch (error) {
      if (error instanceof NestingTooDeepError) return undefined
      throw error
    }
  }

  /** `undefined` if the value is not a list. */
  mainContainers(): number | undefined {
    const spec = this.#podSpec()
    const containers = isJsonObject(spec) ? spec.containers : undefined
    return Array.isArray(containers) ? containers.length : undefined
  }

  #podSpec(): JsonValue | undefined {
    if (this.#status >= 0) this.#spec ??= readPodSpec(this.#bytes, this.#start, this.#status)
    return this.#spec ?? this.#member("spec")
  }

  #member(name: "spec" | "status"): JsonValue | undefined {
    const whole = this.#whole()
    return isJsonObject(whole) && Object.hasOwn(whole, name) ? whole[name] : undefined
  }

  #whole(): JsonValue | undefined {
    if (this.#isParsed) return this.#parsed
    this.#isParsed = true
    try {
      this.#parsed = parseExactJson(this.#bytes.subarray(this.#start, this.#end))
    } catch (error) {
      if (!(error instanceof MalformedJsonError)) throw error
    }
    return this.#parsed
  }
}
