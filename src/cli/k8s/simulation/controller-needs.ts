/** What the controller of Simulations needs, from its own definition: no cluster is asked. */
import { systemClock } from "../../../clock.ts"
import { rulesOf } from "../../../host/controller/rbac-rules.ts"
import type { ScopedRules } from "../../../host/controller/rule-set.ts"
import { discoverBuiltIn } from "../../../k8s/index.ts"
import { parseGvk } from "../../../kube/gvk.ts"
import type { Kind } from "../../../kube/kind.ts"
import { simulationKind, simulationRootKind } from "../../../simulation/api/derived-names.ts"
import { simulationController } from "../../../simulation/controller/definition.ts"
import { HookRuns } from "../../../simulation/controller/hook-runs.ts"
import { nameOfKind } from "../../../simulation/controller/kinds.ts"

const custom = (name: string, plural: string): Kind => {
  const gvk = parseGvk(name)
  if (gvk === undefined) throw new Error(`${name} is not the name of a kind`)
  return { gvk, plural, namespaced: true }
}

/** Kinds that are not built into Kubernetes. Some clusters lack the last two; permissions for them do no harm there. */
const defined: Readonly<Record<string, Kind>> = {
  [nameOfKind.simulation]: simulationKind,
  [nameOfKind.root]: simulationRootKind,
  [nameOfKind.certificate]: custom(nameOfKind.certificate, "certificates"),
  [nameOfKind.prometheus]: custom(nameOfKind.prometheus, "prometheuses"),
}

/** Rights of a controller in that namespace. */
export const controllerNeeds = (namespace: string): Promise<ReadonlyArray<ScopedRules>> => {
  const hooks = new HookRuns({
    environment: {},
    clock: systemClock,
    onOutput: () => undefined,
    onEnd: () => undefined,
    onTrouble: () => undefined,
  })
  return rulesOf([simulationController({ namespace, hooks })], kindOf, { leaseNamespace: namespace })
}

const kindOf = async (name: string): Promise<Kind> => {
  const known = defined[name]
  if (known !== undefined) return known
  const gvk = parseGvk(name)
  const answer = gvk && discoverBuiltIn(gvk)
  if (answer?.tag !== "found")
    throw new Error(`the controller of Simulations uses ${name}, whose resource is not known`)
  return answer.resource
}
