/**
 * The Kubernetes manifests that run the recorder, a controller host, or the controller of Simulations in a cluster.
 *
 * Manifests are data computed from settings. The only I/O is that of the function that resolves kinds, which reads the cluster's
 * discovery documents.
 */

export { defaultConfiguration } from "../recorder/configuration/default-configuration.ts"
export { hostManifestsFor } from "./host/host-manifests.ts"
export type { HostSettings, ModuleConfigMap, ModuleNeeds, ModulePlace, StatePlace } from "./host/host-settings.ts"
export type { Manifest } from "./manifest/manifest.ts"
export type { Authentication, ManifestSettings, SecretKey } from "./manifest/settings.ts"
export { manifestsFor } from "./manifests.ts"
export { renderManifests } from "./render.ts"
export { builtInKinds, discoverBuiltIn } from "./rights/built-in-resources.ts"
export { type Permissions, permissionsFor, type Rule } from "./rights/permissions.ts"
export { type Resolve, type Unresolved, watchedResources } from "./rights/watched-resources.ts"
export { simulationManifestsFor } from "./simulation/simulation-manifests.ts"
