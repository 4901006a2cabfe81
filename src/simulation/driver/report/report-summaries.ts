/** The ConfigMap with the summaries of a Simulation's repetitions, which lives as long as the Simulation. */
import type { ApiClient } from "../../../kube/client/api-client.ts"
import { AlreadyExistsError, NotFoundError } from "../../../kube/client/api-errors.ts"
import { kinds } from "../../../kube/client/kinds.ts"
import type { ApiObject } from "../../../kube/client/objects.ts"
import { derivedNames, simulationLabel } from "../../api/derived-names.ts"
import type { Simulation } from "../../api/simulation.ts"
import { longestHistory } from "../../api/status.ts"
import { driverFieldManager } from "../driver-status.ts"

interface ConfigMap extends ApiObject {
  readonly data?: Readonly<Record<string, string>>
}

/**
 * Adds the summary of a repetition as `<repetition>.json`; of more than {@link longestHistory} the first ones are removed, because an object has room for about
 * 1 MiB. Rejects with an ApiError.
 */
export const keepSummary = async (
  client: ApiClient,
  simulation: Simulation,
  repetition: number,
  summary: string,
): Promise<void> => {
  const { name: owner, uid = "" } = simulation.metadata
  const place = { namespace: simulation.spec.driver.namespace, name: derivedNames(owner).report }
  const key = `${repetition}.json`
  const labels = {
    [simulationLabel]: owner,
    "app.kubernetes.io/name": place.name,
    "app.kubernetes.io/managed-by": "kubereel",
  }
  const ownerReferences = [{ apiVersion: simulation.apiVersion, kind: simulation.kind, name: owner, uid }]
  const metadata = { ...place, labels, ownerReferences }
  const object: ConfigMap = { apiVersion: "v1", kind: "ConfigMap", metadata, data: { [key]: summary } }
  const options = { fieldManager: driverFieldManager }
  const existing = await present(client, place)
  if (existing === undefined) {
    try {
      await client.create(kinds.configMaps, object, options)
      return
    } catch (error) {
      // The creation was repeated after its response was lost.
      if (!(error instanceof AlreadyExistsError)) throw error
    }
  }
  const dropped = Object.keys(existing?.data ?? {})
    .filter((each) => each !== key && /^\d+\.json$/.test(each))
    .toSorted((left, right) => Number.parseInt(left, 10) - Number.parseInt(right, 10))
    .slice(0, -(longestHistory - 1))
  const data = { ...Object.fromEntries(dropped.map((each) => [each, null])), [key]: summary }
  // Owner and labels too: one of an earlier Simulation of this name may not be collected yet.
  await client.patch(kinds.configMaps, place, "merge", { metadata: { labels, ownerReferences }, data }, options)
}

const present = async (
  client: ApiClient,
  place: { readonly namespace: string; readonly name: string },
): Promise<ConfigMap | undefined> => {
  try {
    return await client.get<ConfigMap>(kinds.configMaps, place)
  } catch (error) {
    if (error instanceof NotFoundError) return undefined
    throw error
  }
}
