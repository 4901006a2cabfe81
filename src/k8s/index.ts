/**
 * The Kubernetes manifests that run the recorder, a controller host, or the controller of Simulations in a cluster.
 *
 * Manifests are data computed from settings. The only I/O is that of the function that resolves kinds, which reads the cluster's
 * discovery documents.
 */

export { hostManifestsFor } from "./host/host-manifests.ts"
export type { ModuleConfigMap, ModuleNeeds, ModulePlace } from "./host/host-settings.ts"
export type { Authentication, SecretKey } from "./manifest/settings.ts"
export { manifestsFor } from "./manifests.ts"
export { renderManifests } from "./render.ts"
export { builtInKinds, discoverBuiltIn } from "./rights/built-in-resources.ts"
export { permissionsFor } from "./rights/permissions.ts"
export { type Resolve, type Unresolved, watchedResources } from "./rights/watched-resources.ts"
export { simulationManifestsFor } from "./simulation/simulation-manifests.ts"
