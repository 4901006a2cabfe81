/**
 * The names of the objects that exist at a moment of a trace. Memory: the names of what exists, by kind and namespace, because one Set holds at
 * most 2^24 of them.
 */
import type { Target } from "./rule.ts"

export { kindWithoutVersion } from "../trace/sanitising/built-in-kinds.ts"

/** Add what is applied, remove what is deleted. */
export class PresentObjects {
  readonly #kinds = new Map<string, Map<string, Set<string>>>()

  add({ kind, namespace, name }: Target): void {
    const namespaces = this.#kinds.get(kind) ?? new Map<string, Set<string>>()
    if (namespaces.size === 0) this.#kinds.set(kind, namespaces)
    const names = namespaces.get(namespace) ?? new Set<string>()
    if (names.size === 0) namespaces.set(namespace, names)
    names.add(name)
  }

  remove({ kind, namespace, name }: Target): void {
    this.#kinds.get(kind)?.get(namespace)?.delete(name)
  }

  has({ kind, namespace, name, orClusterScoped = false }: Target): boolean {
    const namespaces = this.#kinds.get(kind)
    if (namespaces === undefined) return false
    return namespaces.get(namespace)?.has(name) === true || (orClusterScoped && namespaces.get("")?.has(name) === true)
  }

  /** Whether there ever was an object of that kind. */
  hasKind(kind: string): boolean {
    return this.#kinds.has(kind)
  }
}
