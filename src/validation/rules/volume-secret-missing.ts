import { volumeFix, volumeNeeds } from "../references/volume-references.ts"
import type { Rule } from "../rule.ts"

const source = { kind: "Secret", member: "secret", nameMember: "secretName", projected: "secret" }

/** Volumes from a Secret that the trace lacks: the kubelet does not start the pods. */
export const volumeSecretMissing: Rule = {
  code: "E0004",
  name: "volume_secret_missing",
  severity: "error",
  summary: "A volume takes its contents from a Secret that the trace does not have in the object's namespace.",
  explanation: [
    "A pod with such a volume stays in ContainerCreating on a node that runs containers. Virtual nodes do not look.",
    "Checked are volumes and the sources of projected volumes. References with optional: true are exempt.",
    "Record Secrets too, or create it in the replay's namespace. The fix removes the volumes with their mounts, and from projected volumes only the source.",
  ],
  needs: (traced) => volumeNeeds(traced, source),
  fix: volumeFix(source),
}
