import { environmentFix, environmentNeeds } from "../references/environment-references.ts"
import type { Rule } from "../rule.ts"

const source = { kind: "ConfigMap", keyRef: "configMapKeyRef", ref: "configMapRef" } as const

/** Environment variables from a ConfigMap that the trace lacks: the kubelet does not start the containers. */
export const environmentConfigMapMissing: Rule = {
  code: "E0003",
  name: "envvar_configmap_missing",
  severity: "error",
  summary:
    "An environment variable of a container takes its value from a ConfigMap that the trace does not have in the object's namespace.",
  explanation: [
    "A container whose environment refers to a missing ConfigMap is not started. Virtual nodes do not look, so that a replay on them works; nodes that run containers refuse.",
    "Checked are env and envFrom of containers, init containers and ephemeral containers. What counts is the name of the ConfigMap, not the key in it. References with optional: true are exempt.",
    "Record ConfigMaps too, or create it in the replay's namespace. The fix removes the variables.",
  ],
  needs: (traced) => environmentNeeds(traced, source),
  fix: environmentFix(source),
}
