/** The requests of the conformance scripts, which both servers get in the cluster suite, as what is mutated. */

import { pointedAt } from "../cluster/conformance/pointer.ts"
import type { RequestStep, Script, Step } from "../cluster/conformance/script.ts"
import { scripts } from "../cluster/conformance/scripts/index.ts"
import type { Json } from "../cluster/exact-json.ts"
import type { PlainRequest } from "./request-mutants.ts"
import { treeOf } from "./tree.ts"

/** All scripts: some 1,500 requests, of every kind of object and of request. */
export const requestScripts: ReadonlyArray<Script> = scripts

/** What a script knows by now: its namespace and what was captured from responses. */
export class Variables {
  readonly #captured: Map<string, Json>

  constructor(namespace: string) {
    this.#captured = new Map<string, Json>([["ns", namespace]])
  }

  /** The request of a step, with the variables that are known. */
  requestOf(step: Step): PlainRequest {
    const query = Object.entries(step.query).map(([key, value]) => `${key}=${encodeURIComponent(this.#filled(value))}`)
    const path = this.#filled(step.path)
    const headers = Object.fromEntries(Object.entries(step.headers).map(([key, value]) => [key, this.#filled(value)]))
    const location = query.length === 0 ? path : `${path}${path.includes("?") ? "&" : "?"}${query.join("&")}`
    if (step.type === "watch") return { method: "GET", path: location, headers }
    const body = this.#bodyOf(step)
    return { method: step.method, path: location, headers, ...(body !== undefined && { body }) }
  }

  /** Remembers what later steps need of a response. */
  capture(step: Step, text: string): void {
    if (step.type === "watch" || Object.keys(step.capture).length === 0) return
    const body = parsed(text)
    for (const [name, pointer] of Object.entries(step.capture)) this.#captured.set(name, pointedAt(body, pointer) ?? "")
  }

  #bodyOf({ body }: RequestStep): PlainRequest["body"] {
    if (body === undefined) return undefined
    if (typeof body === "function") {
      try {
        return treeOf(body(this.#captured))
      } catch {
        // It needs the response of a step that has not run, or was refused here.
        return treeOf({})
      }
    }
    if (typeof body === "object" && body !== null && "raw" in body)
      return typeof body.raw === "string" ? Buffer.from(this.#filled(body.raw)) : (body.raw as Buffer)
    return treeOf(JSON.parse(this.#filled(JSON.stringify(body))))
  }

  #filled(text: string): string {
    return text.replace(/<([A-Za-z][A-Za-z0-9]*)>/g, (whole, name: string) => {
      const value = this.#captured.get(name)
      return value === undefined ? whole : typeof value === "string" ? value : JSON.stringify(value)
    })
  }
}

const parsed = (text: string): Json => {
  try {
    return JSON.parse(text) as Json
  } catch {
    // A table, YAML, or nothing: no pointer leads into it.
    return null
  }
}
