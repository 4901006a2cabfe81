/**
 * The configuration of a recorder that is given none, of `reel record` as of the manifests of `reel k8s`: the workloads and the lifecycles of their pods.
 *
 * It does not include ConfigMaps: they contain credentials more often than they should, so the permission to read all of a
 * cluster's ConfigMaps should be requested explicitly and not come with the installation.
 */
import type { ReadBeginning } from "./load-configuration.ts"

export const defaultConfiguration = `# What is recorded: docs/reference/configuration.md. "reel k8s" computes the permissions from it.
trackedObjects:
  apps/v1.DaemonSet: { trackLifecycle: true }
  apps/v1.Deployment: { trackLifecycle: true }
  apps/v1.ReplicaSet: {}
  apps/v1.StatefulSet: { trackLifecycle: true }
  batch/v1.CronJob: { trackLifecycle: true }
  batch/v1.Job: {}
  v1.Pod: {}
`

/** Its name in messages, where that of a file would be. */
export const defaultConfigurationName = "the default configuration"

/** Reads it, for `loadConfiguration`. */
export const readDefaultConfiguration: ReadBeginning = async () => Buffer.from(defaultConfiguration)
