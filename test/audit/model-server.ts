/**
 * A small API server that logs what it does, for property tests: its objects at the end are what an import of its log must have. It knows nothing of
 * src/audit; its rules for deletions are written down again, from the point of view of the server.
 */
import type { JsonObject } from "../../src/trace/index.ts"
import { auditEvent, type EventFacts } from "./audit-events.ts"

/** What a client does. */
export type Step =
  | {
      readonly do: "create" | "update" | "patch" | "no-op"
      readonly kind: ModelKind
      readonly name: string
      readonly value: number
    }
  | { readonly do: "delete"; readonly kind: ModelKind; readonly name: string; readonly grace: number | undefined }
  | { readonly do: "finalize" | "unfinalize"; readonly kind: ModelKind; readonly name: string }
  | { readonly do: "bind" | "run" | "evict"; readonly name: string }
  | { readonly do: "scale"; readonly name: string; readonly value: number }
  | { readonly do: "clear"; readonly kind: ModelKind }
  | {
      readonly do: "read" | "fail" | "dry-run"
      readonly kind: ModelKind
      readonly name: string
      readonly value: number
    }

export const modelKinds = ["ConfigMap", "Pod", "Deployment"] as const
export type ModelKind = (typeof modelKinds)[number]

interface Model {
  readonly kind: ModelKind
  readonly name: string
  readonly uid: string
  version: number
  value: number
  finalizers: ReadonlyArray<string>
  nodeName: string
  phase: string
  /** Seconds that are left to it once it is deleted. */
  grace: number | undefined
  deletedAt: string | undefined
}

const resources = { ConfigMap: "configmaps", Pod: "pods", Deployment: "apps/v1 deployments" }

/** Take steps; then read the log and the state. */
export class ModelServer {
  readonly events: JsonObject[] = []
  readonly #objects = new Map<string, Model>()
  #version = 0
  #uids = 0
  #seconds = 0

  /** What exists, by `kind name`, without what a log need not have: versions. */
  get state(): ReadonlyMap<string, unknown> {
    return new Map([...this.#objects].map(([key, model]) => [key, comparable(this.#written(model))]))
  }

  take(step: Step): void {
    this.#seconds += 0.25
    switch (step.do) {
      case "create":
        return this.#create(step.kind, step.name, step.value)
      case "update":
      case "patch":
        return this.#changed(step.kind, step.name, { verb: step.do }, (model) => {
          model.value = step.value
        })
      case "no-op": {
        const model = this.#get(step.kind, step.name)
        if (model !== undefined) this.#log(model, { verb: "update", response: this.#written(model) })
        return
      }
      case "finalize":
        return this.#changed(step.kind, step.name, { verb: "patch" }, (model) => {
          if (model.deletedAt === undefined) model.finalizers = ["example.com/hold"]
        })
      case "unfinalize":
        return this.#changed(step.kind, step.name, { verb: "patch" }, (model) => {
          model.finalizers = []
        })
      case "run":
        return this.#changed("Pod", step.name, { verb: "patch", subresource: "status" }, (model) => {
          model.phase = "Running"
        })
      case "scale":
        return this.#scale(step.name, step.value)
      case "bind":
        return this.#bind(step.name)
      case "delete":
        return this.#delete(step.kind, step.name, step.grace)
      case "evict":
        return this.#evict(step.name)
      case "clear":
        return this.#clear(step.kind)
      case "read":
        return this.#logNamed(step.kind, step.name, { verb: "get", response: { kind: step.kind } })
      case "fail":
        return this.#logNamed(step.kind, step.name, { verb: "update", code: 409, response: { kind: "Status" } })
      case "dry-run":
        return this.#logNamed(step.kind, step.name, {
          verb: "patch",
          query: "?dryRun=All",
          response: { kind: step.kind },
        })
    }
  }

  #create(kind: ModelKind, name: string, value: number): void {
    if (this.#get(kind, name) !== undefined) return
    const uid = `uid-${++this.#uids}`
    const life = { finalizers: [], nodeName: "", phase: "Pending", grace: undefined, deletedAt: undefined }
    const model: Model = { kind, name, uid, version: ++this.#version, value, ...life }
    this.#objects.set(`${kind} ${name}`, model)
    this.#log(model, { verb: "create", code: 201, response: this.#written(model) })
  }

  /** A write with the object for a response, which may be the last one of an object that is being deleted. */
  #changed(kind: ModelKind, name: string, facts: EventFacts, change: (model: Model) => void): void {
    const model = this.#get(kind, name)
    if (model === undefined) return
    change(model)
    model.version = ++this.#version
    this.#log(model, { ...facts, response: this.#written(model) })
    this.#endIfFree(model)
  }

  #endIfFree(model: Model): void {
    if (model.deletedAt !== undefined && model.finalizers.length === 0 && (model.grace ?? 0) === 0)
      this.#objects.delete(`${model.kind} ${model.name}`)
  }

  #scale(name: string, value: number): void {
    const model = this.#get("Deployment", name)
    if (model === undefined) return
    model.value = value
    model.version = ++this.#version
    const response = {
      ...{ kind: "Scale", apiVersion: "autoscaling/v1" },
      metadata: { name, namespace: "shop", uid: model.uid, resourceVersion: String(model.version) },
      spec: { ...(value > 0 && { replicas: value }) },
    }
    this.#log(model, { verb: "patch", subresource: "scale", response })
  }

  #bind(name: string): void {
    const model = this.#get("Pod", name)
    if (model === undefined || model.nodeName !== "" || model.deletedAt !== undefined) return
    model.nodeName = "n1"
    model.version = ++this.#version
    const request = { kind: "Binding", apiVersion: "v1", metadata: { name }, target: { kind: "Node", name: "n1" } }
    this.#log(model, { verb: "create", subresource: "binding", code: 201, request, response: status })
  }

  /** Marks it, or ends it; returns whether it is gone. */
  #remove(model: Model, asked: number | undefined): boolean {
    const usual = model.kind === "Pod" && model.nodeName !== "" ? 30 : 0
    const grace = usual === 0 ? 0 : (asked ?? usual)
    if (model.deletedAt === undefined) {
      if (grace > 0 || model.finalizers.length > 0) {
        model.deletedAt = "marked"
        model.grace = grace
        model.version = ++this.#version
        return false
      }
    } else if (grace === 0 && (model.grace ?? 0) > 0) {
      model.grace = 0
      model.version = ++this.#version
    }
    if (model.finalizers.length > 0 || (model.grace ?? 0) > 0) return false
    this.#objects.delete(`${model.kind} ${model.name}`)
    return true
  }

  #delete(kind: ModelKind, name: string, grace: number | undefined): void {
    const model = this.#get(kind, name)
    if (model === undefined) return
    const isGone = this.#remove(model, grace)
    const request = { kind: "DeleteOptions", ...(grace !== undefined && { gracePeriodSeconds: grace }) }
    // Pods are returned when they are gone, other kinds are not.
    const response = isGone && kind !== "Pod" ? { ...status, details: { name, uid: model.uid } } : this.#written(model)
    this.#log(model, { verb: "delete", request, response })
  }

  #evict(name: string): void {
    const model = this.#get("Pod", name)
    if (model === undefined) return
    this.#remove(model, undefined)
    this.#log(model, {
      verb: "create",
      subresource: "eviction",
      code: 201,
      request: { kind: "Eviction" },
      response: status,
    })
  }

  #clear(kind: ModelKind): void {
    const models = [...this.#objects.values()].filter((model) => model.kind === kind)
    const items = models.map((model) => {
      const { kind: _, apiVersion: __, ...item } = this.#written(model)
      return item as JsonObject
    })
    for (const model of models) this.#remove(model, undefined)
    const apiVersion = kind === "Deployment" ? "apps/v1" : "v1"
    const response = { kind: `${kind}List`, apiVersion, metadata: {}, items }
    this.#event(kind, { verb: "deletecollection", name: "", request: { kind: "DeleteOptions" }, response })
  }

  #written({ kind, name, uid, version, value, finalizers, nodeName, phase, grace, deletedAt }: Model): JsonObject {
    const deletion =
      deletedAt === undefined ? {} : { deletionTimestamp: deletedAt, deletionGracePeriodSeconds: grace ?? 0 }
    const body = {
      ConfigMap: { data: { value: String(value) } },
      Pod: { spec: { value, ...(nodeName !== "" && { nodeName }) }, status: { phase } },
      Deployment: { spec: { replicas: value } },
    }[kind]
    return {
      ...{ apiVersion: kind === "Deployment" ? "apps/v1" : "v1", kind },
      metadata: {
        ...{ name, namespace: "shop", uid, resourceVersion: String(version), ...deletion },
        ...(finalizers.length > 0 && { finalizers }),
      },
      ...body,
    } as JsonObject
  }

  #get(kind: ModelKind, name: string): Model | undefined {
    return this.#objects.get(`${kind} ${name}`)
  }

  #log({ kind, name }: Model, facts: EventFacts): void {
    this.#logNamed(kind, name, facts)
  }

  #logNamed(kind: ModelKind, name: string, facts: EventFacts): void {
    this.#event(kind, { name, ...facts })
  }

  #event(kind: ModelKind, facts: EventFacts): void {
    const given = { at: this.#seconds, resource: resources[kind], ...facts }
    this.events.push(auditEvent({ ...given, stage: "RequestReceived" }), auditEvent(given))
  }
}

const status = { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success" }

/** An object without its version, and without when and how long after its deletion it ends. */
export const comparable = (object: JsonObject): unknown => {
  const {
    resourceVersion: _,
    deletionTimestamp,
    deletionGracePeriodSeconds: __,
    ...metadata
  } = object.metadata as JsonObject
  return { ...object, metadata: { ...metadata, isDeleted: deletionTimestamp !== undefined } }
}
