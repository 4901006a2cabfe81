/**
 * What it takes to run the recorder in a cluster, as Kubernetes manifests.
 *
 * Manifests are data computed from settings; nothing is read or written here but the cluster's discovery documents, by
 * whoever resolves kinds.
 */
export { alerts } from "./alerts.ts"
export { builtInKinds, discoverBuiltIn } from "./built-in-resources.ts"
export { dashboard, dashboardExpressions } from "./dashboard.ts"
export { defaultConfiguration } from "./default-configuration.ts"
export type { Manifest } from "./manifest.ts"
export { manifestsFor } from "./manifests.ts"
export { type Permissions, permissionsFor, type Rule } from "./permissions.ts"
export { renderManifests } from "./render.ts"
export type { Authentication, ManifestSettings, SecretKey } from "./settings.ts"
export { type Resolve, type Unresolved, watchedResources } from "./watched-resources.ts"
