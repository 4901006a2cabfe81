/** The namespace that something of ours runs in. */
import { type Manifest, manifest } from "./manifest.ts"

/** Enforces the restricted pod security standard, so that edits that give the pod more privileges are rejected. */
export const namespaceManifest = (name: string, labels: Readonly<Record<string, string>>): Manifest => {
  const standards = Object.fromEntries(
    ["enforce", "audit", "warn"].map((mode) => [`pod-security.kubernetes.io/${mode}`, "restricted"]),
  )
  return manifest({ apiVersion: "v1", kind: "Namespace", metadata: { name, labels: { ...labels, ...standards } } })
}
