/**
 * Maps a kind to the name of its resource, which kwok's patches need: `apps/v1.Deployment` → `deployments`.
 *
 * A trace has these names only for custom resources whose definition is in it. The others are guessed by the rule of Kubernetes' own
 * clients (apimachinery, UnsafeGuessKindToResource), which is right for every kind of Kubernetes itself.
 */

import { parseGvk } from "../../../kube/offline.ts"
import { isJsonObject, type JsonObject, type JsonValue } from "../../json/exact-json.ts"

/** The resource that a patch names. */
export interface ResourceName {
  /** Empty for the core group. */
  readonly group: string
  readonly version: string
  /** Plural, lower case. */
  readonly resource: string
}

const CUSTOM_RESOURCE_DEFINITION = "apiextensions.k8s.io/v1.CustomResourceDefinition"

/** Learns from the objects passed to it; memory is one entry per custom resource definition. */
export class ResourceNames {
  /** `group Kind` → plural. */
  readonly #plurals = new Map<string, string>()

  /** Learns from an object if it defines a custom resource. */
  learn(gvk: string, object: JsonObject): void {
    if (gvk !== CUSTOM_RESOURCE_DEFINITION) return
    const spec = fieldOf(object, "spec")
    const names = fieldOf(spec, "names")
    const [group, kind, plural] = [fieldOf(spec, "group"), fieldOf(names, "kind"), fieldOf(names, "plural")]
    if (typeof group === "string" && typeof kind === "string" && typeof plural === "string")
      this.#plurals.set(`${group} ${kind}`, plural)
  }

  /** `undefined` if the text is not a GVK. */
  of(gvk: string): ResourceName | undefined {
    const parsed = parseGvk(gvk)
    if (parsed === undefined) return undefined
    const { group, version, kind } = parsed
    return { group, version, resource: this.#plurals.get(`${group} ${kind}`) ?? guessPlural(kind) }
  }
}

/** The plural that the rule makes of a kind. */
const guessPlural = (kind: string): string => {
  const singular = kind.toLowerCase()
  if (singular.endsWith("endpoints")) return singular
  if (singular.endsWith("s")) return `${singular}es`
  return singular.endsWith("y") ? `${singular.slice(0, -1)}ies` : `${singular}s`
}

const fieldOf = (value: JsonValue | undefined, name: string): JsonValue | undefined =>
  isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined
