/**
 * What a recorder in a cluster records unless it is told otherwise: the workloads and the lives of their pods.
 *
 * ConfigMaps are not among them. They are often asked for, but hold credentials more often than they should, and reading all
 * of a cluster's is a right to be asked for, not one to come with an installation.
 */
export const defaultConfiguration = `# What is recorded: docs/reference/configuration.md. "reel k8s" computes the rights from it.
trackedObjects:
  apps/v1.DaemonSet: { trackLifecycle: true }
  apps/v1.Deployment: { trackLifecycle: true }
  apps/v1.ReplicaSet: {}
  apps/v1.StatefulSet: { trackLifecycle: true }
  batch/v1.CronJob: { trackLifecycle: true }
  batch/v1.Job: {}
  v1.Pod: {}
`
