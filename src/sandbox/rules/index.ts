/**
 * The behaviour of every kind the sandbox serves: {@link rulesOf} for built-in and custom ones. It joins the rules of a kind with
 * those of its types, and adds what the server's generic registry does for every kind.
 */

import { type FieldError, forbidden, immutable, invalid, type Resource } from "../../apiserver/index.ts"
import { subdomainComplaints } from "../../kube/offline.ts"
import * as batch from "./batch.ts"
import { each } from "./checks.ts"
import * as core from "./core.ts"
import * as extensions from "./extensions.ts"
import { child, isAbsent, isSame } from "./fields.ts"
import type { Fields, Kind, KindRules, MutableObject, StatedKind } from "./kind-rules.ts"
import stated from "./kinds.json" with { type: "json" }
import * as metadata from "./metadata.ts"
import * as pods from "./pods.ts"
import * as policies from "./policies.ts"
import * as services from "./services.ts"
import * as storage from "./storage.ts"
import { Place, type RulesByType, type TypeWalk, TypeWalks } from "./type-rules.ts"
import * as workloads from "./workloads.ts"

/** The rules of types, and those of kinds by `group/Kind`; the core group is the empty string. */
interface Subject {
  readonly types: RulesByType
  readonly kinds?: Readonly<Record<string, Kind>>
}

const subjects: Subject[] = [metadata, pods, workloads, batch, services, core, storage, policies, extensions]

const types = new TypeWalks(Object.assign({}, ...subjects.map((subject) => subject.types)))
const statedKinds: Readonly<Record<string, StatedKind>> = stated
const kinds: Readonly<Record<string, Kind>> = Object.assign({}, ...subjects.map((subject) => subject.kinds))

/** Fills in the defaults of a pod template, as an object that holds one gets them. */
export const fillPodTemplate = (template: Fields): void =>
  types.ofMessage("api/core/v1.PodTemplateSpec")?.fill(template)

/** The description of a custom kind. A change of anything but metadata and, if it has that endpoint, status is a new generation. */
const customKind = (resource: Resource): Kind =>
  resource.subresources?.includes("status") === true
    ? {
        generation: ["*"],
        takesStatus: true,
        prepare: (object, old) => {
          if (old === undefined) delete object.status
        },
        statusKeeps: ["labels", "annotations", "finalizers", "ownerReferences"],
        unconditionalUpdate: false,
      }
    : { generation: ["*", "status"], unconditionalUpdate: false }

const kindOf = (resource: Resource): Kind => {
  const name = `${resource.gvk.group}/${resource.gvk.kind}`
  return resource.custom === true ? customKind(resource) : { ...statedKinds[name], ...kinds[name] }
}

const made = new WeakMap<Resource, KindRules>()

/** Kinds without their own rules get the generic ones. The same resource always gives the same rules. */
export const rulesOf = (resource: Resource): KindRules => {
  const known = made.get(resource)
  if (known !== undefined) return known
  const rules = rulesFrom(kindOf(resource), resource, resource.custom === true ? undefined : types.of(resource.gvk))
  made.set(resource, rules)
  return rules
}

/**
 * Whether an update may omit `metadata.resourceVersion` and overwrite any state. If it may not, the response is a
 * 422: `metadata.resourceVersion: Invalid value: 0: must be specified for an update`.
 */
export const allowsUnconditionalUpdate = (resource: Resource): boolean => kindOf(resource).unconditionalUpdate !== false

const rulesFrom = (kind: Kind, { namespaced, custom }: Resource, type: TypeWalk | undefined): KindRules => {
  const format = kind.name ?? subdomainComplaints
  const status = type?.members.get("status")?.type
  const startsAnew = status !== undefined && kind.takesStatus !== true
  // Objects of a CustomResourceDefinition may have any finalizers.
  const checkFinalizers = (object: MutableObject, root: Place): void => {
    if (custom !== true) each(metadata.finalizer)(object.metadata.finalizers, root.at("metadata", "finalizers"), object)
  }

  return {
    setDefaults: (object) => type?.fill(object),

    prepareForCreate(object) {
      const own = object.metadata
      // A client's values for the server's own fields are ignored.
      delete own.deletionTimestamp
      delete own.deletionGracePeriodSeconds
      if (startsAnew) {
        const first = kind.newStatus?.(object) ?? {}
        status.fill(first)
        object.status = first
      }
      // Kinds without a generation keep the client's.
      if (kind.generation !== undefined) own.generation = 1
      else if (own.generation === 0) delete own.generation
      kind.prepare?.(object, undefined)
    },

    prepareForUpdate(object, old, subresource) {
      keepSystemMetadata(object.metadata, old.metadata)
      if (subresource === "status") {
        keepAllButStatus(object, old)
        for (const key of kind.statusKeeps ?? []) keep(object.metadata, old.metadata, key)
        kind.prepareStatus?.(object, old)
        return
      }
      if (status !== undefined || kind.takesStatus === true) keep(object, old, "status")
      kind.prepare?.(object, old)
      if (kind.generation?.some((path) => differs(object, old, path)) === true)
        object.metadata.generation = Number(old.metadata.generation ?? 0) + 1
    },

    settleUpdate(object, old, subresource) {
      kind.settle?.(object, old, subresource)
    },

    readBack: (object) => kind.readBack?.(object) ?? false,

    validate(object) {
      const root = new Place([])
      metadata.checkMetadata(object.metadata, namespaced, format, root.at("metadata"))
      checkFinalizers(object, root)
      type?.check(object, root)
      kind.checkNew?.(object, root)
      return root.errors
    },

    validateUpdate(object, old, subresource) {
      const root = new Place([])
      metadata.checkMetadataUpdate(object.metadata, old.metadata, namespaced, root.at("metadata"))
      checkFinalizers(object, root)
      if (subresource === "status") kind.checkStatus?.(object, old, root)
      else {
        type?.check(object, root)
        for (const [path, how] of Object.entries(kind.fixed ?? {})) {
          const value = memberAt(object, path)
          if (!isSame(value, memberAt(old, path))) root.add(refusedChange(path, value, how))
        }
        kind.checkChange?.(object, old, root)
      }
      return root.errors
    },
  }
}

const refusedChange = (path: string, value: unknown, how: string): FieldError => {
  const [type, detail = ""] = how.split(": ")
  if (type === "immutable") return immutable(path, value ?? null)
  return type === "forbidden" ? forbidden(path, detail) : invalid(path, value ?? null, detail)
}

const keep = (object: Fields, old: Fields, key: string): void => {
  if (isAbsent(old[key])) delete object[key]
  else object[key] = old[key]
}

/** A uid that the client did send stays, so that a wrong one is detected. */
const keepSystemMetadata = (own: Fields, old: Fields): void => {
  delete own.selfLink
  keep(own, old, "generation")
  keep(own, old, "creationTimestamp")
  if (isAbsent(own.uid) || own.uid === "") keep(own, old, "uid")
  // An update may omit the deletionTimestamp of an object that is being deleted, but may not add one to another.
  if (!isAbsent(old.deletionTimestamp) || isAbsent(own.deletionTimestamp)) keep(own, old, "deletionTimestamp")
  if (isAbsent(own.deletionGracePeriodSeconds)) keep(own, old, "deletionGracePeriodSeconds")
}

const envelope = new Set(["apiVersion", "kind", "metadata", "status"])

const keepAllButStatus = (object: MutableObject, old: MutableObject): void => {
  for (const key of Object.keys(object)) if (!envelope.has(key)) delete object[key]
  for (const key of Object.keys(old)) if (!envelope.has(key)) object[key] = old[key]
}

/** The member at a path of one step or two. */
const memberAt = (object: Fields, path: string): unknown => {
  const dot = path.indexOf(".")
  return dot === -1 ? object[path] : child(object, path.slice(0, dot))?.[path.slice(dot + 1)]
}

const differs = (object: Fields, old: Fields, path: string): boolean =>
  path === "*"
    ? [...Object.keys(object), ...Object.keys(old)].some((key) => !envelope.has(key) && !isSame(object[key], old[key]))
    : !isSame(memberAt(object, path), memberAt(old, path))
