import { volumeFix, volumeNeeds } from "../references/volume-references.ts"
import type { Rule } from "../rule.ts"

const source = {
  kind: "ConfigMap",
  member: "configMap",
  nameMember: "name",
  projected: "configMap",
  isExempt: (name: string) => name === "kube-root-ca.crt",
}

/** Volumes from a ConfigMap that the trace lacks: the kubelet does not start the pods. */
export const volumeConfigMapMissing: Rule = {
  code: "E0005",
  name: "volume_configmap_missing",
  severity: "error",
  summary: "A volume takes its contents from a ConfigMap that the trace does not have in the object's namespace.",
  explanation: [
    "A pod with such a volume stays in ContainerCreating on a node that runs containers. Virtual nodes do not look.",
    "Checked are volumes and the sources of projected volumes. References with optional: true are exempt. kube-root-ca.crt is exempt, because every namespace has it.",
    "Record ConfigMaps too, or create it in the replay's namespace. The fix removes the volumes with their mounts, and from projected volumes only the source.",
  ],
  needs: (traced) => volumeNeeds(traced, source),
  fix: volumeFix(source),
}
