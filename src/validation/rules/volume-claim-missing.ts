import { volumeFix, volumeNeeds } from "../references/volume-references.ts"
import type { Rule } from "../rule.ts"

const source = {
  kind: "PersistentVolumeClaim",
  member: "persistentVolumeClaim",
  nameMember: "claimName",
  projected: undefined,
}

/** Volumes of a claim that the trace lacks: the scheduler leaves the pods pending. */
export const volumeClaimMissing: Rule = {
  code: "E0006",
  name: "volume_claim_missing",
  severity: "error",
  summary: "A volume is a PersistentVolumeClaim that the trace does not have in the object's namespace.",
  explanation: [
    "The scheduler leaves a pod pending as long as one of its claims does not exist, on virtual nodes too.",
    "Claims that a StatefulSet or an ephemeral volume makes of a template are not references of the template. A recorded pod of a StatefulSet names them, and counts.",
    "Record PersistentVolumeClaims too, or create the claim in the replay's namespace. The fix removes the volumes with their mounts.",
  ],
  needs: (traced) => volumeNeeds(traced, source),
  fix: volumeFix(source),
}
