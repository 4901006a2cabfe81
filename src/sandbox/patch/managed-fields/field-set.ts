/**
 * Sets of fields, kept in the form that `fieldsV1` has on the wire: an object from path elements (path-element.ts) to
 * what is owned below them. `{}` means that the element itself is owned and nothing below it; a member `.` means itself
 * *and* the other members; without either, only the members are owned. The root object has no `.`; an empty root is the
 * empty set.
 *
 * Why the wire form: managedFields of a Pod have some 150 elements in five entries, and a write changes few of them.
 * Nothing has to be decoded or encoded, and every operation returns its argument where nothing changed, so unchanged
 * parts are shared.
 *
 * All sets here are canonical: `.` first, then elements in the server's order. {@link canonicalSet} makes external
 * sets so.
 */

import { isEmptyObject } from "../../../own-member.ts"
import { isJsonObject, type JsonValue } from "../json/json-value.ts"
import { canonicalElement, compareElements } from "./path-element.ts"

export interface FieldSet {
  readonly [element: string]: FieldSet
}

interface FieldSetDraft {
  [element: string]: FieldSet
}

/** An owned element with nothing below it; as a root, the empty set. */
export const leaf: FieldSet = Object.freeze({})

export const SELF = "."

export const isEmptySet = (set: FieldSet): boolean => isEmptyObject(set)

/** Whether the element of this node is itself in the set. Not for roots. */
export const ownsItself = (node: FieldSet): boolean => {
  for (const first in node) return first === SELF
  return true
}

/** Whether the set has anything below this node. */
export const ownsBelow = (node: FieldSet): boolean => {
  for (const element in node) if (element !== SELF) return true
  return false
}

/** The node, with its own element in the set. */
export const owningItself = (node: FieldSet | undefined): FieldSet => {
  if (node === undefined) return leaf
  return ownsItself(node) ? node : { [SELF]: leaf, ...node }
}

/** Elements with what is owned below them. */
export type Children = Array<readonly [element: string, node: FieldSet]>

/** A node from elements in any order; `undefined` if nothing is in it. */
export const nodeOf = (children: Children, itself: boolean): FieldSet | undefined => {
  if (children.length > 1) children.sort((left, right) => compareElements(left[0], right[0]))
  return nodeInOrder(children, itself)
}

const nodeInOrder = (children: Children, itself: boolean): FieldSet | undefined => {
  if (children.length === 0) return itself ? leaf : undefined
  const node: FieldSetDraft = {}
  if (itself) node[SELF] = leaf
  for (const [element, child] of children) node[element] = child
  return node
}

/** Which elements a combination of two sets has: those of one side only, and those of both by who owns them. */
interface Combination {
  readonly keepsLeft: boolean
  readonly keepsRight: boolean
  readonly owns: (left: boolean, right: boolean) => boolean
}

/** The fields that are in either set. */
export const union = (left: FieldSet, right: FieldSet): FieldSet => {
  if (isEmptySet(left)) return right
  return combined(left, right, inEither, true) ?? leaf
}

/** The fields that are in `left` and not in `right`; a parent and its children count separately. */
export const difference = (left: FieldSet, right: FieldSet): FieldSet => combined(left, right, inLeft, true) ?? leaf

/** The fields that are in both sets. */
export const intersection = (left: FieldSet, right: FieldSet): FieldSet => combined(left, right, inBoth, true) ?? leaf

const inEither: Combination = { keepsLeft: true, keepsRight: true, owns: (left, right) => left || right }
const inLeft: Combination = { keepsLeft: true, keepsRight: false, owns: (left, right) => left && !right }
const inBoth: Combination = { keepsLeft: false, keepsRight: false, owns: (left, right) => left && right }

/** `left` itself if nothing changes; `undefined` if nothing is left. */
const combined = (left: FieldSet, right: FieldSet, how: Combination, isRoot: boolean): FieldSet | undefined => {
  const leftOwns = !isRoot && ownsItself(left)
  const itself = !isRoot && how.owns(leftOwns, ownsItself(right))
  const children: Children = []
  let isChanged = itself !== leftOwns
  let isSorted = true
  for (const element in left) {
    if (element === SELF) continue
    const mine = left[element]
    const theirs = right[element]
    if (mine === undefined) continue
    const child = theirs !== undefined ? combined(mine, theirs, how, false) : how.keepsLeft ? mine : undefined
    if (child !== mine) isChanged = true
    if (child !== undefined) children.push([element, child])
  }
  if (how.keepsRight)
    for (const element in right) {
      const theirs = right[element]
      if (element === SELF || left[element] !== undefined || theirs === undefined) continue
      children.push([element, theirs])
      isSorted = false
    }
  if (!isChanged && isSorted) return left
  return isSorted ? nodeInOrder(children, itself) : nodeOf(children, itself)
}

/** The set without these paths and everything below them. */
export const withoutPaths = (set: FieldSet, paths: ReadonlyArray<ReadonlyArray<string>>): FieldSet => {
  let rest = set
  for (const path of paths) rest = withoutPath(rest, path) ?? leaf
  return rest
}

const withoutPath = (node: FieldSet, [element = "", ...path]: ReadonlyArray<string>): FieldSet | undefined => {
  const child = node[element]
  if (child === undefined) return node
  const rest = path.length === 0 ? undefined : withoutPath(child, path)
  if (rest === child) return node
  const draft: FieldSetDraft = { ...node }
  if (rest === undefined) delete draft[element]
  else draft[element] = rest
  if (rest === undefined && !ownsBelow(draft)) return SELF in node ? leaf : undefined
  return draft
}

/**
 * Visits every path of the set: at each level first the elements that are in it, then what is below each. The array is reused.
 */
export const forEachPath = (set: FieldSet, visit: (path: ReadonlyArray<string>) => void, path: string[] = []): void => {
  const below = Object.entries(set).filter(([element]) => element !== SELF)
  for (const [element, node] of below) {
    if (!ownsItself(node)) continue
    path.push(element)
    visit(path)
    path.pop()
  }
  for (const [element, node] of below) {
    path.push(element)
    forEachPath(node, visit, path)
    path.pop()
  }
}

export const hasPath = (set: FieldSet, path: ReadonlyArray<string>): boolean => {
  let node: FieldSet | undefined = set
  for (const element of path) {
    node = node[element]
    if (node === undefined) return false
  }
  return path.length > 0 && ownsItself(node)
}

/** A client's `fieldsV1` as the server would write it; `undefined` for an unreadable one. */
export const canonicalSet = (fields: JsonValue | undefined): FieldSet | undefined => {
  const node = canonicalNode(fields)
  return node === undefined ? undefined : (withoutSelf(node) ?? leaf)
}

const withoutSelf = (node: FieldSet): FieldSet | undefined => {
  if (!(SELF in node)) return node
  const { [SELF]: _, ...rest } = node
  return isEmptySet(rest) ? undefined : rest
}

const canonicalNode = (fields: JsonValue | undefined): FieldSet | undefined => {
  if (!isJsonObject(fields)) return undefined
  const children = new Map<string, FieldSet>()
  let itself = false
  for (const key of Object.keys(fields)) {
    if (key === SELF) {
      itself = true
      continue
    }
    const known = canonicalElement(key)
    if (known === undefined) return undefined
    if (known === "unknown") continue
    const child = canonicalNode(fields[key])
    if (child === undefined) return undefined
    const before = children.get(known.element)
    children.set(known.element, before === undefined ? child : (combined(before, child, inEither, false) ?? child))
  }
  return nodeOf([...children], itself) ?? leaf
}
