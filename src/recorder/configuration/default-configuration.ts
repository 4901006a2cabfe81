/**
 * The default configuration of a recorder in a cluster: the workloads and the lifecycles of their pods.
 *
 * It does not include ConfigMaps: they contain credentials more often than they should, so the permission to read all of a
 * cluster's ConfigMaps should be requested explicitly and not come with the installation.
 */
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
