/** The Deployment of a controller host, and the ConfigMaps with its modules. */
import { bracketed } from "../../recorder/index.ts"
import { type Manifest, manifest } from "../manifest/manifest.ts"
import { deployment } from "../manifest/objects.ts"
import {
  type HostSettings,
  hostLabels,
  hostPort,
  type ModuleNeeds,
  servesWebhooks,
  webhookPort,
} from "./host-settings.ts"
import { keepsState, stateDirectory, stateVolume } from "./host-state.ts"

/** Mount paths in the container. */
const moduleDirectory = "/etc/kubereel/modules"
/** Where the image has the modules with `--modules image`. */
const imageDirectory = "/modules"

/** s from SIGTERM to SIGKILL: runs of scripts may take 30 s to end, and their Events are sent then. */
const gracePeriodSeconds = 45

export const moduleConfigMaps = (settings: HostSettings): ReadonlyArray<Manifest> =>
  settings.place.tag !== "config-maps"
    ? []
    : settings.place.configMaps.map(({ name, data, binaryData }) =>
        manifest({
          apiVersion: "v1",
          kind: "ConfigMap",
          metadata: { name, namespace: settings.namespace, labels: hostLabels(settings) },
          ...(Object.keys(data).length > 0 && { data }),
          ...(Object.keys(binaryData).length > 0 && { binaryData }),
        }),
      )

export const hostDeployment = (settings: HostSettings): Manifest => {
  const { name, namespace, place } = settings
  const { resources, formula } = sizesOf(settings.modules)
  const isStateful = keepsState(settings)
  return deployment({
    ...{ name, namespace, labels: hostLabels(settings), container: "host", image: settings.image },
    args: containerArguments(settings),
    port: hostPort,
    resources,
    graceSeconds: gracePeriodSeconds,
    replicas: 1,
    volumeMounts: [
      ...(place.tag === "image" ? [] : [{ name: "modules", mountPath: moduleDirectory, readOnly: true }]),
      ...(isStateful ? [{ name: "state", mountPath: stateDirectory }] : []),
    ],
    volumes: [...moduleVolumes(settings), ...(isStateful ? [stateVolume(settings)] : [])],
    texts: {
      strategy: "One at a time: WebAssembly modules elect no leader, and two hosts would do everything twice.",
      resources: formula.join("\n"),
      liveness: "Succeeds while the process is alive, regardless of the API server and of single modules.",
      readiness:
        "Succeeds when all threads run and every module has started or been refused. ?verbose lists the conditions.",
      ...(isStateful && { volumes: "state: checkpoints of modules." }),
    },
  })
}

/** The command line of the container, after the image's entry point `reel`. */
const containerArguments = (settings: HostSettings): ReadonlyArray<string> => {
  const { place, bind, workers, namespace, name } = settings
  return [
    "host",
    place.tag === "image" ? imageDirectory : moduleDirectory,
    `--listen=${bracketed(bind)}:${hostPort}`,
    `--workers=${workers}`,
    "--log-format=json",
    ...(servesWebhooks(settings) ? [`--webhook-address=${name}.${namespace}.svc:${webhookPort}`] : []),
    ...(keepsState(settings) ? [`--state-directory=${stateDirectory}`] : []),
  ]
}

/** One directory out of all ConfigMaps. Changed files arrive within a minute or two and take effect without a restart. */
const moduleVolumes = ({ place }: HostSettings) => {
  switch (place.tag) {
    case "config-maps":
      return [
        { name: "modules", projected: { sources: place.configMaps.map(({ name }) => ({ configMap: { name } })) } },
      ]
    case "claim":
      return [{ name: "modules", persistentVolumeClaim: { claimName: place.name, readOnly: true } }]
    case "image":
      return []
  }
}

/**
 * MiB, from bench/results/host.md: 113 for ten modules, 191 for a hundred, 118 to 152 for ten scripts under load, each with 3,000 watched objects of 1 to 10
 * kinds in it. A hundred modules that watch ten kinds each take some 200.
 */
const measured = { base: 128, wasm: 1, script: 4 }
/** For what scripts keep; the heap of a script thread is limited to a part of the container's memory (src/host/worker-entries.ts). */
const scriptsMebibytes = 256
/** A thread of its own for each script, as after an incident (docs/decisions/0025-scripts-in-threads-of-their-own.md). */
const scriptThreadMebibytes = 24

const sizesOf = (modules: ReadonlyArray<ModuleNeeds>) => {
  const scripts = modules.filter(({ memoryBytes }) => memoryBytes === undefined).length
  const wasm = modules.length - scripts
  const memoryLimits = modules.reduce((sum, { memoryBytes = 0 }) => sum + memoryBytes, 0)
  const usual = measured.base + wasm * measured.wasm + scripts * measured.script
  const allowed = Math.ceil(memoryLimits / 2 ** 20)
  const forScripts = scripts > 0 ? scriptsMebibytes + scripts * scriptThreadMebibytes : 0
  const worst = 2 * usual + allowed + forScripts
  return {
    // No CPU limit: the API server closes a watch whose reader is throttled.
    resources: { requests: { cpu: "100m", memory: `${usual}Mi` }, limits: { memory: `${worst}Mi` } },
    formula: [
      `memory in MiB: ${measured.base} + ${measured.wasm} for each of ${wasm} WebAssembly modules + ${measured.script} for each of ${scripts} scripts, with some`,
      "  thousand watched objects; the limit is twice that, and what the modules' own limits allow them together,",
      `  ${allowed}${scripts > 0 ? `, and ${forScripts} for the scripts` : ""}. A module that takes too much is then ended, not the host.`,
      "cpu: idle modules need none. No limit: the API server closes watches whose reader is throttled.",
    ],
  }
}
