/**
 * Labels and annotations by which a pod tells a virtual node how it lives: SimKube's, which its kwok stages and ours understand
 * (docs/facts/simkube.md), and our own for what SimKube does not have.
 */

/** Set to `true` once it is known when the pod ends. */
export const completeLabel = "simkube.io/kwok-stage-complete"
/** When it ends: RFC 3339. */
export const completeTimeAnnotation = "simkube.io/kwok-stage-complete-time"
/** From being scheduled to the start of its containers: Go's duration. */
export const createDelayAnnotation = "simkube.io/kwok-stage-create-delay"
/** From there to ready. */
export const readyDelayAnnotation = "simkube.io/kwok-stage-ready-delay"
/** kwok's jitter is the upper limit of a delay and not added to it; one below the delay replaces it. */
export const jitterSuffix = "-jitter"

/** How long the pod runs, in the trace's time. A pod with it ends only once it has {@link completeLabel}. */
export const runTimeAnnotation = "kubereel.dev/run-time"
/** With which code its containers end. Absent: 0. */
export const exitCodeAnnotation = "kubereel.dev/exit-code"
/** How often its containers had been restarted by then. Absent: 0. */
export const restartsAnnotation = "kubereel.dev/restarts"
