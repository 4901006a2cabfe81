/** The kinds that the controller watches and writes, as definitions of controllers name them. */
export const nameOfKind = {
  simulation: "simkube.io/v1.Simulation",
  root: "simkube.io/v1.SimulationRoot",
  job: "batch/v1.Job",
  pod: "v1.Pod",
  namespace: "v1.Namespace",
  service: "v1.Service",
  secret: "v1.Secret",
  serviceAccount: "v1.ServiceAccount",
  binding: "rbac.authorization.k8s.io/v1.ClusterRoleBinding",
  lease: "coordination.k8s.io/v1.Lease",
  webhooks: "admissionregistration.k8s.io/v1.MutatingWebhookConfiguration",
  certificate: "cert-manager.io/v1.Certificate",
  prometheus: "monitoring.coreos.com/v1.Prometheus",
} as const
