/** What all our pods have: no privileges, nothing to write to but volumes, patient probes. */
import { userId } from "./settings.ts"

/** More than the restricted pod security standard asks for. */
export const podSecurity = {
  runAsNonRoot: true,
  runAsUser: userId,
  runAsGroup: userId,
  fsGroup: userId,
  fsGroupChangePolicy: "OnRootMismatch",
  seccompProfile: { type: "RuntimeDefault" },
} as const

/** Of every container. */
export const containerSecurity = {
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ["ALL"] },
} as const

/** Generous, because a busy machine may respond late: a probe checks whether it responds, not how fast. */
export const probe = (path: string) => ({ httpGet: { path, port: "http" }, timeoutSeconds: 5 })
