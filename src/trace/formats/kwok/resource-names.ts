/**
 * Maps a kind to the name of its resource, which kwok's patches need: `apps/v1.Deployment` → `deployments`.
 *
 * A trace has these names only for custom resources whose definition is in it. The others are guessed by the rule of Kubernetes' own
 * clients (apimachinery, UnsafeGuessKindToResource), which is right for every kind of Kubernetes itself.
 */

import { parseGvk } from "../../../kube/offline.ts"
import type { JsonObject } from "../../json/exact-json.ts"
import { memberIn, textIn } from "../../json/members.ts"

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
    const spec = memberIn(object, "spec")
    const names = memberIn(spec, "names")
    const [kind, plural] = [textIn(names, "kind"), textIn(names, "plural")]
    if (kind !== "" && plural !== "") this.#plurals.set(`${textIn(spec, "group")} ${kind}`, plural)
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
