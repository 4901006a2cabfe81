/** The controller of aggregated ClusterRoles: their rules are those of all ClusterRoles that their selectors match. */
import { type Change, keyOf } from "../../apiserver/index.ts"
import type { WorkQueue } from "../../host/index.ts"
import { type LabelSelectorObject, selectorMatches } from "../../kube/offline.ts"
import { child, isSame, items } from "../rules/fields.ts"
import type { Fields, MutableObject } from "../rules/kind-rules.ts"
import { stateOf } from "../store/object-encoding.ts"
import type { WriteSurroundings } from "../writes/surroundings.ts"
import { controllerManager, deferredWork, writeAsController } from "./controller-write.ts"

const clusterRole = "rbac.authorization.k8s.io/v1.ClusterRole"

/** A ClusterRole whose rules may be taken over. */
interface AggregableRole {
  readonly name: string
  readonly labels: Readonly<Record<string, unknown>> | undefined
  readonly rules: ReadonlyArray<Fields>
}

/** The rules of an aggregated role, each once, in the order of the selectors and of the roles' names. */
export const aggregatedRules = (
  name: string,
  selectors: ReadonlyArray<LabelSelectorObject>,
  roles: ReadonlyArray<AggregableRole>,
): ReadonlyArray<Fields> => {
  const sorted = roles.filter((role) => role.name !== name).sort((left, right) => (left.name < right.name ? -1 : 1))
  const rules: Fields[] = []
  for (const selector of selectors)
    for (const role of sorted)
      if (selectorMatches(selector, role.labels))
        for (const rule of role.rules) if (!rules.some((known) => isSame(known, rule))) rules.push(rule)
  return rules
}

export class RoleAggregation {
  readonly #around: WriteSurroundings
  readonly #queue: WorkQueue

  constructor(around: WriteSurroundings) {
    this.#around = around
    this.#queue = deferredWork(around, (_own, name) => this.#aggregate(name))
    around.store.observe(({ name }) => {
      if (name === clusterRole) this.rebuild()
    })
  }

  /** Looks at every aggregated role. */
  rebuild(): void {
    for (const { change } of this.#around.store.collection(clusterRole).live.values())
      if (mentionsAggregation(change)) this.#queue.add(change.name)
  }

  close(): void {
    void this.#queue.close()
  }

  #aggregate(name: string): void {
    const collection = this.#around.store.collection(clusterRole)
    const live = collection.live.get(keyOf("", name))
    if (live === undefined) return
    const before = stateOf(live.change)
    const selectors: ReadonlyArray<LabelSelectorObject> = items(
      child(before, "aggregationRule"),
      "clusterRoleSelectors",
    )
    if (selectors.length === 0) return
    const roles = Array.from(collection.live.values(), ({ change }) => aggregable(stateOf(change)))
    const rules = aggregatedRules(name, selectors, roles)
    if (isSame(rules, before.rules)) return
    const after: MutableObject = { ...before, metadata: { ...before.metadata }, rules: rules.length > 0 ? rules : null }
    writeAsController(this.#around, { collection, live, before, after, manager: controllerManager })
  }
}

const aggregable = (role: MutableObject): AggregableRole => ({
  name: String(role.metadata.name),
  labels: child(role.metadata, "labels"),
  rules: items(role, "rules"),
})

const aggregationKey = Buffer.from('"aggregationRule"')

/** Without parsing: most roles are not aggregated. */
const mentionsAggregation = ({ line }: Change): boolean => line.includes(aggregationKey)
