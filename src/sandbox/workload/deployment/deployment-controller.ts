/** Executes the plan of rollout.ts for each Deployment (pkg/controller/deployment). */

import { keyOf, objectKey } from "../../../host/cache/object-cache.ts"
import {
  type Controller,
  enqueueOwners,
  enqueueSelf,
  KeyedController,
  recordAs,
  type Surroundings,
} from "../../../host/controller.ts"
import { AlreadyExistsError, isTerminatingNamespace } from "../../../kube/client/api-errors.ts"
import { kinds } from "../../../kube/client/kinds.ts"
import type { Pod } from "../../../kube/client/objects.ts"
import { controllerOf, isControlledBy } from "../../../kube/client/owner-references.ts"
import { claimObjects } from "../claimed-objects.ts"
import type { ReplicaSet } from "../replica-set/replica-set-object.ts"
import type { DeploymentAction } from "./deployment-action.ts"
import type { Deployment } from "./deployment-object.ts"
import { sameTemplate } from "./replica-set-family.ts"
import { afterCreation, afterFailedCreation, planDeployment } from "./rollout.ts"

export const deploymentController = (surroundings: Surroundings): Controller => {
  const { cluster, events } = surroundings
  const deployments = cluster.cache<Deployment>(kinds.deployments)
  const replicaSets = cluster.cache<ReplicaSet>(kinds.replicaSets)
  const pods = cluster.cache<Pod>(kinds.pods)
  const record = recordAs(events, { component: "deployment-controller" })

  const create = async (
    deployment: Deployment,
    action: Extract<DeploymentAction, { type: "create" }>,
  ): Promise<void> => {
    const { name, namespace } = action.replicaSet.metadata
    let isNew = true
    try {
      await cluster.create(kinds.replicaSets, action.replicaSet)
    } catch (error) {
      if (isTerminatingNamespace(error)) throw error
      if (error instanceof AlreadyExistsError) {
        const existing =
          replicaSets.get(namespace, name) ??
          (await cluster.api.get<ReplicaSet>(kinds.replicaSets, action.replicaSet.metadata))
        const isOurs =
          isControlledBy(existing, deployment) && sameTemplate(existing.spec.template, deployment.spec.template)
        if (!isOurs) {
          // Two templates with one hash: the next try uses a higher collision count.
          const collisionCount = (deployment.status?.collisionCount ?? 0) + 1
          await cluster.updateStatus(kinds.deployments, {
            ...deployment,
            status: { ...deployment.status, collisionCount },
          })
          return
        }
        isNew = false
      } else {
        const message = `Failed to create new replica set "${name}": ${String(error)}`
        record(deployment, "Warning", "ReplicaSetCreateError", message)
        await cluster.updateStatus(kinds.deployments, afterFailedCreation(deployment, message, cluster.now()))
        throw error
      }
    }
    if (!isNew) return
    if (action.event !== undefined) record(deployment, "Normal", "ScalingReplicaSet", action.event)
    await cluster.updateStatus(kinds.deployments, afterCreation(deployment, name, action.revision, cluster.now()))
  }

  const carryOut = async (deployment: Deployment, action: DeploymentAction): Promise<void> => {
    switch (action.type) {
      case "create":
        return create(deployment, action)
      case "update":
        await cluster.update(kinds.replicaSets, action.replicaSet)
        if (action.event !== undefined) record(deployment, "Normal", "ScalingReplicaSet", action.event)
        return
      case "delete":
        return cluster.delete(kinds.replicaSets, action.replicaSet, { propagationPolicy: "Background" })
      case "status":
        await cluster.updateStatus(kinds.deployments, action.deployment)
        return
      case "look-again":
        return controller.enqueueAfter(keyOf(deployment), action.afterMs)
      case "warn":
        return record(deployment, "Warning", action.reason, action.message)
    }
  }

  const reconcile = async (key: string): Promise<void> => {
    const deployment = deployments.byKey(key)
    if (deployment === undefined) return
    const { selector } = deployment.spec
    const own = await claimObjects<ReplicaSet>(cluster, kinds.replicaSets, deployment, kinds.deployments, selector)
    const ownPods = own.flatMap(({ metadata }) => pods.controlledBy(metadata.uid))
    const view = { deployment, replicaSets: own, pods: ownPods, now: cluster.now() }
    for (const action of planDeployment(view)) await carryOut(deployment, action)
  }

  const controller = new KeyedController("deployment", surroundings, reconcile, () => [...deployments.all()].map(keyOf))
  deployments.onChange(enqueueSelf(controller))
  replicaSets.onChange(enqueueOwners(controller, kinds.deployments, surroundings))
  // Recreate waits for the last old Pod to be gone.
  pods.onChange((changes) => {
    for (const { previous, current } of changes) {
      if (previous === undefined || current !== undefined) continue
      const owner = controllerOf(previous)
      const replicaSet =
        owner?.kind === "ReplicaSet" ? replicaSets.get(previous.metadata.namespace, owner.name) : undefined
      const deployment = replicaSet === undefined ? undefined : controllerOf(replicaSet)
      if (deployment?.kind === "Deployment") controller.enqueue(objectKey(previous.metadata.namespace, deployment.name))
    }
  })
  return controller
}
