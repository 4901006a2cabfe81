/** Creating an object that may be there already: from an earlier attempt, whose controller died or never got the response. */
import type { ControllerCluster, NewObject } from "../../../host/controller/access/controller-cluster.ts"
import { AlreadyExistsError } from "../../../kube/client/api-errors.ts"
import type { ApiObject, ObjectBase } from "../../../kube/client/objects.ts"
import { isOwnedBy } from "../objects/belonging.ts"
import { Obstacle } from "./problems.ts"

/** What is there already must belong to the same owner: rejects with {@link Obstacle} otherwise. */
export const createOwn = async <T extends ObjectBase = ApiObject>(
  cluster: ControllerCluster,
  owner: ObjectBase,
  object: NewObject,
): Promise<T> => {
  const { name = "", namespace } = object.metadata
  try {
    return await cluster.create<T>(object)
  } catch (error) {
    if (!(error instanceof AlreadyExistsError)) throw error
  }
  const present = await cluster.getLive<T>(`${object.apiVersion}.${object.kind}`, { name, namespace })
  if (isOwnedBy(present, owner)) return present
  const place = namespace === undefined ? name : `${namespace}/${name}`
  throw new Obstacle("NameTaken", `the ${object.kind} ${place} belongs to something else; delete it`)
}

/** What is there already is taken as it is. */
export const createShared = async (cluster: ControllerCluster, object: NewObject): Promise<void> => {
  try {
    await cluster.create(object)
  } catch (error) {
    if (!(error instanceof AlreadyExistsError)) throw error
  }
}

/** Whether the name is taken, found out without the right to read the object. */
export const isNameTaken = async (cluster: ControllerCluster, object: ObjectBase): Promise<boolean> => {
  const kind = await cluster.kind(`${object.apiVersion}.${object.kind}`)
  try {
    await cluster.api.create(kind, object, { dryRun: true, isRepeatable: true, signal: cluster.signal })
    return false
  } catch (error) {
    if (error instanceof AlreadyExistsError) return true
    throw error
  }
}
