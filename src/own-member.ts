/**
 * Members of objects whose keys clients choose, so that no key is special: `__proto__`, `constructor` and the like are members
 * like any other. Reading with `object[key]` finds inherited things for a key that is not there, assigning to
 * `object.__proto__` changes the prototype; both are avoided here.
 */

/** The object's own member; never an inherited one. */
export const memberOf = <Value>(object: Readonly<Record<string, Value>>, key: string): Value | undefined =>
  Object.hasOwn(object, key) ? object[key] : undefined

/** Sets an own member, whatever its name. */
export const setMember = <Value>(object: Record<string, Value>, key: string, value: NoInfer<Value>): void => {
  if (key === "__proto__") {
    Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true })
  } else {
    object[key] = value
  }
}

/** Whether an object has no members; a list is empty without items. */
export const isEmptyObject = (object: object): boolean => {
  for (const _ in object) return false
  return true
}
