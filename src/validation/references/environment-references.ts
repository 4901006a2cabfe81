/** Environment variables of containers that take their values from a Secret or a ConfigMap: `env` and `envFrom`, of all three kinds of containers. */
import type { JsonObject } from "../../trace/json/exact-json.ts"
import type { Fix, Need, TracedObject } from "../rule.ts"
import { withEntries, withoutEntries } from "./list-entries.ts"
import { containerLists, listIn, objectIn, podSpecsOf, textIn, withPodSpecs } from "./pod-specs.ts"

/** Which references: to Secrets, or to ConfigMaps. */
interface EnvironmentSource {
  readonly kind: "Secret" | "ConfigMap"
  /** In `env[*].valueFrom`. */
  readonly keyRef: string
  /** In `envFrom[*]`. */
  readonly ref: string
}

/** The name that a reference requires; empty if it is optional or there is none. The key plays no part (W-70). */
const requiredName = (reference: JsonObject | undefined): string =>
  reference?.optional === true ? "" : textIn(reference, "name")

/** The needs of all pod specs of an object. */
export function* environmentNeeds(traced: TracedObject, { kind, keyRef, ref }: EnvironmentSource): Generator<Need> {
  for (const { spec, path } of podSpecsOf(traced))
    for (const list of containerLists)
      for (const container of listIn(spec, list)) {
        const lists = [
          ["env", `valueFrom.${keyRef}.name`, (entry: JsonObject) => objectIn(objectIn(entry, "valueFrom"), keyRef)],
          ["envFrom", `${ref}.name`, (entry: JsonObject) => objectIn(entry, ref)],
        ] as const
        for (const [member, by, referenceIn] of lists)
          for (const entry of listIn(container, member)) {
            const name = requiredName(referenceIn(entry))
            if (name === "") continue
            const target = { kind, namespace: traced.namespace, name }
            yield { target, kind, name, element: `${path}.${list}[*].${member}[*]`, by }
          }
      }
}

/** Removes the variables. */
export const environmentFix = ({ kind, keyRef, ref }: EnvironmentSource): Fix => ({
  removes: "the environment variables",
  apply: (traced, isMissing) => {
    const isLost = (reference: JsonObject | undefined): boolean => {
      const name = requiredName(reference)
      return name !== "" && isMissing(kind, name)
    }
    return withPodSpecs(traced, (given) => {
      let spec = given
      for (const list of containerLists)
        spec = withEntries(spec, list, (container) =>
          withoutEntries(
            withoutEntries(container, "env", (entry) => isLost(objectIn(objectIn(entry, "valueFrom"), keyRef))),
            "envFrom",
            (entry) => isLost(objectIn(entry, ref)),
          ),
        )
      return spec
    })
  },
  removals: ({ element, by }, literal) => [{ where: `$e := ${element} | $e.${by} == ${literal}`, path: "$e" }],
})
