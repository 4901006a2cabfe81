import type { JsonObject } from "../../trace/json/exact-json.ts"
import { withMember, withoutMember } from "../../trace/json/members.ts"
import { kindWithoutVersion } from "../present-objects.ts"
import { withoutEntries } from "../references/list-entries.ts"
import { listIn, objectIn, textIn } from "../references/pod-specs.ts"
import type { Rule } from "../rule.ts"

const ownerOf = (reference: JsonObject): { readonly kind: string; readonly name: string } => ({
  kind: kindWithoutVersion(`${textIn(reference, "apiVersion")}.${textIn(reference, "kind")}`),
  name: textIn(reference, "name"),
})

/** Owners that the trace lacks: the garbage collector deletes what they own. */
export const ownerMissing: Rule = {
  code: "E0010",
  name: "owner_missing",
  severity: "error",
  isOfRecordedKinds: true,
  summary: "An object names an owner that the trace does not have.",
  explanation: [
    "The garbage collector deletes objects whose owners do not exist, seconds after SimKube has created them; reel replay leaves such references out, so that nothing manages the object.",
    "An owner may be in the object's namespace or in none. A trace for SimKube of Deployments and Pods without the ReplicaSets between them has such findings: record ReplicaSets too, or leave out owned objects (reel export --owned exclude). In a recorder's own trace (NDJSON) owners of kinds that it does not record are not looked for: if a kind above them is in the trace, such as Deployments, reel replay leaves their objects to the controllers, and else writes them without the reference.",
    "The fix removes the reference. Pods then count as pods without a controller.",
  ],
  *needs({ namespace, object }) {
    for (const reference of listIn(objectIn(object, "metadata") ?? {}, "ownerReferences")) {
      const { kind, name } = ownerOf(reference)
      if (name === "") continue
      yield {
        target: { kind, namespace, name, orClusterScoped: true, isOlder: true },
        kind,
        name,
        element: "metadata.ownerReferences[*]",
        by: "name",
      }
    }
  },
  fix: {
    removes: "the owner reference",
    apply: ({ object }, isMissing) => {
      const metadata = objectIn(object, "metadata")
      if (metadata === undefined) return object
      const left = withoutEntries(metadata, "ownerReferences", (reference) => {
        const { kind, name } = ownerOf(reference)
        return name !== "" && isMissing(kind, name)
      })
      if (left === metadata) return object
      const isLast = Array.isArray(left.ownerReferences) && left.ownerReferences.length === 0
      return withMember(object, "metadata", isLast ? withoutMember(left, "ownerReferences") : left)
    },
    removals: ({ element, by }, literal) => [{ where: `$o := ${element} | $o.${by} == ${literal}`, path: "$o" }],
  },
}
