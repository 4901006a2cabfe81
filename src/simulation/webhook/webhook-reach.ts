/** Whether an API server calls a webhook for pods: asked by creating a pod that is not stored, instead of waiting for a guessed time. */
import type { Clock } from "../../clock.ts"
import type { ApiClient } from "../../kube/client/api-client.ts"
import { kinds } from "../../kube/client/kinds.ts"
import type { ApiObject } from "../../kube/client/objects.ts"
import { messageOf } from "../../message-of.ts"

/** Where pods are created on trial, and how long. */
interface ReachOptions {
  readonly client: ApiClient
  readonly clock: Pick<Clock, "after" | "monotonicMs">
  /** A namespace for whose pods the webhook is registered. */
  readonly namespace: string
  /** Whether a review has arrived. */
  readonly isAsked: () => boolean
  /** ms after which the webhook counts as not reached; 0: after one pod. */
  readonly limitMs: number
  readonly signal: AbortSignal
}

/** The name of the pod that is created on trial. */
const probePod = "probe"

/** ms between two looks whether the server asks the webhook. */
const lookMs = 50

/** `refusal`: why the last pod was refused; empty if it was not. Never rejects. */
export const webhookReached = async (
  options: ReachOptions,
): Promise<{ readonly isReached: boolean; readonly refusal: string }> => {
  const { client, clock, namespace, isAsked, limitMs, signal } = options
  const container = { name: "probe", image: "kubereel.dev/none" }
  const probe: ApiObject = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: probePod, namespace },
    spec: { containers: [container], automountServiceAccountToken: false },
  }
  let refusal = ""
  for (const deadline = clock.monotonicMs() + limitMs; !isAsked() && !signal.aborted; ) {
    // Refused as long as the namespace has no service account, with the same error as without the permission.
    const writing = { dryRun: true, isRepeatable: true, signal }
    refusal = await client.create(kinds.pods, probe, writing).then(() => "", messageOf)
    if (isAsked()) break
    if (clock.monotonicMs() >= deadline) return { isReached: false, refusal }
    await new Promise<void>((resolve) => clock.after(lookMs, resolve))
  }
  return { isReached: isAsked(), refusal }
}
