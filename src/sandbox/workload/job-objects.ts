/** Jobs as their controller reads them, and their Pods. */
import type { ApiObject, Condition, Container, Pod, PodTemplate, SelectorObject } from "../../kube/index.ts"
import { podOfTemplate } from "./pods/pods.ts"

export interface JobStatus {
  readonly conditions?: ReadonlyArray<Condition>
  readonly startTime?: string
  readonly completionTime?: string
  readonly active?: number
  readonly succeeded?: number
  readonly failed?: number
  readonly terminating?: number
  readonly completedIndexes?: string
  readonly uncountedTerminatedPods?: {
    readonly succeeded?: ReadonlyArray<string>
    readonly failed?: ReadonlyArray<string>
  }
  readonly ready?: number
}

export interface Job extends ApiObject {
  readonly spec: {
    readonly parallelism?: number
    /** Absent: done once one Pod has succeeded and the others have ended. */
    readonly completions?: number
    readonly backoffLimit?: number
    readonly activeDeadlineSeconds?: number
    readonly ttlSecondsAfterFinished?: number
    readonly completionMode?: string
    readonly suspend?: boolean
    readonly podReplacementPolicy?: string
    readonly selector?: SelectorObject
    readonly template: PodTemplate
  }
  readonly status?: JobStatus
}

/** Holds a Pod until its end has been counted. */
export const trackingFinalizer = "batch.kubernetes.io/job-tracking"
const indexAnnotation = "batch.kubernetes.io/job-completion-index"
const indexVariable = "JOB_COMPLETION_INDEX"

export const isIndexed = ({ spec }: Job): boolean => spec.completionMode === "Indexed"

export const isTracked = ({ metadata }: Pod): boolean => metadata.finalizers?.includes(trackingFinalizer) === true

/** `Complete` or `Failed` once the Job has ended. */
export const finishedAs = ({ status }: Job): Condition | undefined =>
  status?.conditions?.find(({ type, status: value }) => (type === "Complete" || type === "Failed") && value === "True")

/** `undefined` for a Pod without a valid index. */
export const indexOf = ({ metadata }: Pod): number | undefined => {
  const text = metadata.annotations?.[indexAnnotation] ?? ""
  return /^\d+$/.test(text) ? Number(text) : undefined
}

/** A Pod of the Job, for an index if the Job is indexed. */
export const jobPod = (job: Job, index: number | undefined): Pod => {
  const { template } = job.spec
  if (index === undefined) return podOfTemplate(template, job, { finalizers: [trackingFinalizer] })
  const text = String(index)
  const withIndex = (container: Container): Container =>
    container.env?.some(({ name }) => name === indexVariable)
      ? container
      : { ...container, env: [...(container.env ?? []), indexEnvironment] }
  return podOfTemplate(template, job, {
    generateName: `${job.metadata.name.slice(0, 247 - text.length - 1)}-${text}-`,
    labels: { [indexAnnotation]: text },
    annotations: { [indexAnnotation]: text },
    finalizers: [trackingFinalizer],
    spec: {
      hostname: `${job.metadata.name}-${text}`,
      containers: template.spec.containers.map(withIndex),
      ...(template.spec.initContainers === undefined
        ? {}
        : { initContainers: template.spec.initContainers.map(withIndex) }),
    },
  })
}

const indexEnvironment = {
  name: indexVariable,
  valueFrom: { fieldRef: { fieldPath: `metadata.labels['${indexAnnotation}']` } },
}
