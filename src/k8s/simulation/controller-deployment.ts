/** The Deployment of the controller of Simulations. */
import { type Manifest, manifest } from "../manifest/manifest.ts"
import { containerSecurity, podSecurity, probe } from "../manifest/pod-security.ts"
import { selectorOf } from "../manifest/settings.ts"
import { controllerName, controllerPort, type SimulationSettings, simulationLabels } from "./simulation-settings.ts"

/** For hooks, which have nothing else to write to. */
const workDirectory = "/tmp"

/** s from SIGTERM to SIGKILL: hooks may take 20 s to end, and what they did is written then. */
const gracePeriodSeconds = 30

export const controllerDeployment = (settings: SimulationSettings): Manifest => {
  const { namespace, image, replicas, bind } = settings
  const labels = simulationLabels(settings)
  const selector = selectorOf({ name: controllerName })
  const pod = ["spec", "template", "spec"]
  const container = [...pod, "containers", 0]
  return manifest(
    {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: controllerName, namespace, labels },
      spec: {
        replicas,
        selector: { matchLabels: selector },
        template: {
          metadata: { labels, annotations: { "kubectl.kubernetes.io/default-container": "controller" } },
          spec: {
            serviceAccountName: controllerName,
            automountServiceAccountToken: true,
            enableServiceLinks: false,
            terminationGracePeriodSeconds: gracePeriodSeconds,
            securityContext: podSecurity,
            ...(replicas > 1 && { topologySpreadConstraints: [spreadOver(selector)] }),
            containers: [
              {
                name: "controller",
                image,
                imagePullPolicy: "IfNotPresent",
                args: ["controller", `--listen=${bind.includes(":") ? `[${bind}]` : bind}:${controllerPort}`],
                env: [
                  { name: "CTRL_NAMESPACE", valueFrom: { fieldRef: { fieldPath: "metadata.namespace" } } },
                  { name: "TMPDIR", value: workDirectory },
                ],
                ports: [{ name: "http", containerPort: controllerPort, protocol: "TCP" }],
                resources: { requests: { cpu: "50m", memory: "128Mi" }, limits: { memory: "512Mi" } },
                startupProbe: { ...probe("/healthz"), periodSeconds: 2, failureThreshold: 60 },
                livenessProbe: { ...probe("/healthz"), periodSeconds: 20, failureThreshold: 6 },
                readinessProbe: { ...probe("/readyz"), periodSeconds: 5, failureThreshold: 2 },
                securityContext: containerSecurity,
                volumeMounts: [{ name: "work", mountPath: workDirectory }],
              },
            ],
            volumes: [{ name: "work", emptyDir: { sizeLimit: "64Mi" } }],
          },
        },
      },
    },
    {
      path: [...container, "resources"],
      text: "The rest up to the limit is for hooks. No CPU limit: the API server closes watches whose reader is throttled.",
    },
    {
      path: [...container, "livenessProbe"],
      text: "Succeeds while the process is alive, regardless of the API server and of who is the leader.",
    },
    {
      path: [...container, "readinessProbe"],
      text: "Succeeds once it has read the Simulations, or stands by for a controller that has.",
    },
  )
}

/** One node that fails does not take all of them. */
const spreadOver = (matchLabels: Readonly<Record<string, string>>) => ({
  maxSkew: 1,
  topologyKey: "kubernetes.io/hostname",
  whenUnsatisfiable: "ScheduleAnyway",
  labelSelector: { matchLabels },
})
