/** Defaults of the apps and batch kinds, and of ReplicationControllers. */

import type { DefaultTable } from "../default-table.ts"
import { at, child, ensured, isAbsent, isEmptyMap, isZero, text } from "../fields.ts"
import type { Fields } from "../kind-rules.ts"
import { claimSpec, podTemplate } from "../pods/pod-defaults.ts"

const setAbsent = (object: Fields, key: string, value: unknown): void => {
  if (isAbsent(object[key])) object[key] = value
}

/** Fills `rollingUpdate` of a strategy of that type, which is also the default type. */
const rollingUpdate =
  (values: Readonly<Record<string, string | number>>) =>
  (strategy: Fields): void => {
    if (strategy.type !== "RollingUpdate") return
    const rolling = ensured(strategy, "rollingUpdate")
    for (const key in values) setAbsent(rolling, key, values[key])
  }

export const deployment: DefaultTable = {
  set: { status: {} },
  make: {
    spec: {
      set: { replicas: 1, revisionHistoryLimit: 10, progressDeadlineSeconds: 600 },
      make: {
        strategy: { set: { type: "RollingUpdate" }, derive: rollingUpdate({ maxUnavailable: "25%", maxSurge: "25%" }) },
        template: podTemplate,
      },
    },
  },
}

export const replicaSet: DefaultTable = {
  make: { spec: { set: { replicas: 1 }, make: { template: podTemplate } }, status: { set: { replicas: 0 } } },
}

export const daemonSet: DefaultTable = {
  make: {
    spec: {
      set: { revisionHistoryLimit: 10 },
      make: {
        updateStrategy: { set: { type: "RollingUpdate" }, derive: rollingUpdate({ maxUnavailable: 1, maxSurge: 0 }) },
        template: podTemplate,
      },
    },
    status: {
      set: { currentNumberScheduled: 0, numberMisscheduled: 0, desiredNumberScheduled: 0, numberReady: 0 },
    },
  },
}

const claimTemplate: DefaultTable = {
  make: { metadata: {}, spec: claimSpec, status: { set: { phase: "Pending" } } },
  derive: (claim) => {
    claim.apiVersion = "v1"
    claim.kind = "PersistentVolumeClaim"
  },
}

export const statefulSet: DefaultTable = {
  make: {
    spec: {
      set: { replicas: 1, revisionHistoryLimit: 10, podManagementPolicy: "OrderedReady", serviceName: "" },
      make: {
        updateStrategy: {
          derive: (strategy) => {
            // A strategy with a type keeps its lack of parameters, one without gets both.
            if (text(strategy, "type") === "") {
              strategy.type = "RollingUpdate"
              ensured(strategy, "rollingUpdate")
            }
            const rolling = child(strategy, "rollingUpdate")
            if (strategy.type === "RollingUpdate" && rolling !== undefined) setAbsent(rolling, "partition", 0)
          },
        },
        persistentVolumeClaimRetentionPolicy: { set: { whenDeleted: "Retain", whenScaled: "Retain" } },
        template: podTemplate,
      },
      each: { volumeClaimTemplates: claimTemplate },
    },
    status: { set: { replicas: 0, availableReplicas: 0 } },
  },
}

const labelsFromTemplate = (object: Fields): Fields | undefined => at(object, "spec", "template", "metadata", "labels")

/**
 * An object without labels gets those of its pods: the same map, as in the server, so that the labels that a Job adds
 * to its template become its own too.
 */
const borrowLabels = (object: Fields): void => {
  const labels = labelsFromTemplate(object)
  const metadata = ensured(object, "metadata")
  if (labels !== undefined && isEmptyMap(metadata.labels)) metadata.labels = labels
}

export const replicationController: DefaultTable = {
  make: { spec: { set: { replicas: 1 }, within: { template: podTemplate } }, status: { set: { replicas: 0 } } },
  derive: (object) => {
    borrowLabels(object)
    const spec = child(object, "spec")
    const labels = labelsFromTemplate(object)
    if (spec !== undefined && labels !== undefined && isEmptyMap(spec.selector)) spec.selector = { ...labels }
  },
}

/** For a Job's spec, also in a CronJob's template. */
const jobSpec: DefaultTable = {
  set: { completionMode: "NonIndexed", suspend: false, manualSelector: false },
  make: { template: podTemplate },
  within: { podFailurePolicy: { each: { rules: { each: { onPodConditions: { set: { status: "True" } } } } } } },
  derive: (spec) => {
    if (isAbsent(spec.completions) && isAbsent(spec.parallelism)) spec.completions = 1
    setAbsent(spec, "parallelism", 1)
    setAbsent(spec, "backoffLimit", isAbsent(spec.backoffLimitPerIndex) ? 6 : 2_147_483_647)
    setAbsent(spec, "podReplacementPolicy", isAbsent(spec.podFailurePolicy) ? "TerminatingOrFailed" : "Failed")
  },
}

export const job: DefaultTable = { set: { status: {} }, make: { spec: jobSpec }, derive: borrowLabels }

/** The Job in a CronJob is a template: it gets the defaults of its pods, not those of a Job. */
export const cronJob: DefaultTable = {
  set: { status: {} },
  make: {
    spec: {
      set: {
        concurrencyPolicy: "Allow",
        suspend: false,
        successfulJobsHistoryLimit: 3,
        failedJobsHistoryLimit: 1,
        schedule: "",
      },
      make: {
        jobTemplate: {
          make: {
            metadata: {},
            spec: {
              make: { template: podTemplate },
              within: {
                podFailurePolicy: { each: { rules: { each: { onPodConditions: { set: { status: "True" } } } } } },
              },
            },
          },
        },
      },
    },
  },
  derive: (object) => {
    const template = at(object, "spec", "jobTemplate", "spec")
    if (template !== undefined && isZero(template.template)) delete template.template
  },
}

export const controllerRevision: DefaultTable = {
  derive: (object) => setAbsent(object, "revision", 0),
}
