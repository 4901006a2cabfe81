import { withoutEntries } from "../references/list-entries.ts"
import { listIn, podSpecsOf, textIn, withPodSpecs } from "../references/pod-specs.ts"
import type { Rule } from "../rule.ts"

const kind = "Secret"

/** Image pull secrets that the trace lacks: nodes pull without credentials. */
export const imagePullSecretMissing: Rule = {
  code: "W0007",
  name: "image_pull_secret_missing",
  severity: "warning",
  summary: "A pod template names an image pull Secret that the trace does not have in the object's namespace.",
  explanation: [
    "A node that runs containers pulls without the Secret, which private registries refuse. Virtual nodes pull nothing.",
    "Create the Secret in the replay's namespace if its nodes are real. The fix removes the reference.",
  ],
  *needs(traced) {
    for (const { spec, path } of podSpecsOf(traced))
      for (const entry of listIn(spec, "imagePullSecrets")) {
        const name = textIn(entry, "name")
        const target = { kind, namespace: traced.namespace, name }
        if (name !== "") yield { target, kind, name, element: `${path}.imagePullSecrets[*]`, by: "name" }
      }
  },
  fix: {
    removes: "the reference to the image pull Secret",
    apply: (traced, isMissing) =>
      withPodSpecs(traced, (spec) =>
        withoutEntries(spec, "imagePullSecrets", (entry) => {
          const name = textIn(entry, "name")
          return name !== "" && isMissing(kind, name)
        }),
      ),
    removals: ({ element, by }, literal) => [{ where: `$s := ${element} | $s.${by} == ${literal}`, path: "$s" }],
  },
}
