/**
 * One state of an object, as bytes: its JSON in one buffer of its own, and what the hub needs to know without parsing it. Immutable, so all
 * subscriptions, queues and journals share it.
 */

import { decodeString, JsonBytes, type Member, type ObservedObject, readMembers } from "../../../kube/index.ts"
import type { ResourceVersion } from "../../../kube/offline.ts"

/** Names one object in all its states. */
interface ObjectIdentity {
  readonly uid: string
  /** The empty string for cluster-scoped objects. */
  readonly namespace: string
  readonly name: string
}

/** Whether an object is selected. */
export type ObjectFilter = (object: ObjectState) => boolean

const quote = 34
const openBrace = 123

/** One cursor for all states of the thread: each use loads it anew. */
const json = new JsonBytes()

export class ObjectState implements ObjectIdentity {
  readonly uid: string
  readonly namespace: string
  readonly name: string
  /** A string if the version is not an integer. */
  readonly version: ResourceVersion | string
  readonly bytes: Buffer
  #labels: Readonly<Record<string, string>> | undefined

  constructor({ uid, namespace, name }: ObjectIdentity, version: ResourceVersion | string, bytes: Buffer) {
    this.uid = uid
    this.namespace = namespace
    this.name = name
    this.version = version
    this.bytes = bytes
  }

  /** `namespace/name`, or the bare name of a cluster-scoped object. */
  get key(): string {
    return this.namespace === "" ? this.name : `${this.namespace}/${this.name}`
  }

  /** Read at the first use, which label selectors make. */
  get labels(): Readonly<Record<string, string>> {
    if (this.#labels === undefined) {
      const members = this.#membersOf(memberNamed(this.#metadataMembers(), "labels"))
      const texts = members.filter(({ valueStart }) => json.view.getUint8(valueStart) === quote)
      this.#labels = Object.fromEntries(
        texts.map(({ key, valueStart, end }) => [key, decodeString(this.bytes, valueStart, end)]),
      )
    }
    return this.#labels
  }

  /** The same state under another version: what a watch sends as the last state of an object that no longer matches its selectors. */
  withVersion(version: ResourceVersion | string): ObjectState {
    const member = memberNamed(this.#metadataMembers(), "resourceVersion")
    if (member === undefined) throw new Error(`${this.key} has no resourceVersion`)
    const { valueStart, end } = member
    const text = Buffer.from(JSON.stringify(String(version)))
    const bytes = Buffer.concat([this.bytes.subarray(0, valueStart), text, this.bytes.subarray(end)])
    return new ObjectState(this, version, bytes)
  }

  #metadataMembers(): ReadonlyArray<Member> {
    json.load(this.bytes, this.bytes.length)
    const member = memberNamed(readMembers(json, 0), "metadata")
    if (member === undefined) throw new Error(`${this.key} has no metadata`)
    return this.#membersOf(member)
  }

  /** Of the cursor's object; none of a value that is no object, such as null. */
  #membersOf(member: Member | undefined): ReadonlyArray<Member> {
    return member !== undefined && json.view.getUint8(member.valueStart) === openBrace
      ? readMembers(json, member.valueStart)
      : []
  }
}

/** If a key occurs twice, the last one wins, as in the API server's decoder. */
const memberNamed = (members: ReadonlyArray<Member>, name: string): Member | undefined =>
  members.findLast(({ key }) => key === name)

export const identityOf = ({ bytes, scanned }: Readonly<ObservedObject>, uid: string): ObjectIdentity => ({
  uid,
  namespace: bytes.toString("utf8", scanned.namespaceStart, scanned.namespaceEnd),
  name: bytes.toString("utf8", scanned.nameStart, scanned.nameEnd),
})

export const uidOf = ({ bytes, scanned }: Readonly<ObservedObject>): string =>
  bytes.toString("utf8", scanned.uidStart, scanned.uidEnd)

/** Copies the bytes of an object out of the buffer that it arrived in, usually without managedFields. */
export const keptBytes = (observed: Readonly<ObservedObject>, keepManagedFields: boolean): Buffer => {
  const { bytes, start, end, scanned } = observed
  const isCut = !keepManagedFields && scanned.managedFieldsEnd > scanned.managedFieldsStart
  const cutStart = isCut ? scanned.managedFieldsStart : end
  const cutEnd = isCut ? scanned.managedFieldsEnd : end
  // Not from the pool: a slice of it would keep 8 KiB of other objects alive.
  const kept = Buffer.allocUnsafeSlow(cutStart - start + (end - cutEnd))
  const head = bytes.copy(kept, 0, start, cutStart)
  bytes.copy(kept, head, cutEnd, end)
  return kept
}
