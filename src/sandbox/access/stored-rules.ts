/** Keeps a {@link RuleBook} equal to the stored roles and bindings: a change counts from the next request on. */

import { type Change, keyOf } from "../../apiserver/index.ts"
import { rulesOf } from "../rbac/policy-rule.ts"
import { RuleBook } from "../rbac/rule-book.ts"
import { subjectsOf } from "../rbac/subject.ts"
import { child, text } from "../rules/fields.ts"
import type { Collection } from "../store/collection.ts"
import { stateOf } from "../store/object-encoding.ts"
import type { ObjectStore } from "../store/object-store.ts"

const group = "rbac.authorization.k8s.io/v1"
const kinds = ["ClusterRole", "Role", "ClusterRoleBinding", "RoleBinding"].map((kind) => `${group}.${kind}`)

export class StoredRules {
  readonly book = new RuleBook()
  readonly #store: ObjectStore

  constructor(store: ObjectStore) {
    this.#store = store
    store.observe((collection, { change }) => this.#take(collection, change))
    this.rebuild()
  }

  /** Call it after the store's history has been replaced. */
  rebuild(): void {
    this.book.clear()
    for (const kind of kinds) {
      const collection = this.#store.collection(kind)
      for (const { change } of collection.live.values()) this.#take(collection, change)
    }
  }

  #take({ name: kind }: Collection, change: Change): void {
    if (!kind.startsWith(group)) return
    const { namespace, name } = change
    const object = change.type === "DELETED" ? undefined : stateOf(change)
    if (kind.endsWith("Role")) {
      this.book.setRole(namespace, name, object && rulesOf(object))
      return
    }
    const reference = child(object, "roleRef")
    const role = { kind: text(reference, "kind"), name: text(reference, "name") }
    this.book.setBinding(namespace, name, object && { name, role, subjects: subjectsOf(object) })
  }
}

/** Where a live object is looked up. */
export const liveObject = (store: ObjectStore, kind: string, namespace: string, name: string): Change | undefined =>
  store.collection(kind).live.get(keyOf(namespace, name))?.change
