/** The frames of `proto/owners.proto`: one per batch of new owners. */
import protobuf from "protobufjs/minimal.js"
import { Message, readerOf } from "./message.ts"

/** An owner that an object names. */
export interface OwnerQuestion {
  readonly uid: string
  /** `apps/v1.ReplicaSet`. */
  readonly gvk: string
  /** The namespace of the owned object; the empty string for a cluster-scoped one. */
  readonly namespace: string
  readonly name: string
}

/** The result of looking an owner up at the API server. */
export interface OwnerAnswer extends OwnerQuestion {
  /** The JSON array as the server sent it; empty when there is none. */
  readonly ownerReferences: Uint8Array
  /** False: no object with that UID exists any more, unless it is `recorded`. */
  readonly found: boolean
  /** No look-up was made: it is an object of the recording. */
  readonly recorded: boolean
}

interface OwnerQuestions {
  readonly questions: ReadonlyArray<OwnerQuestion>
  /** Questions were dropped: the database has them. */
  readonly rescan: boolean
}

/** Identifies an owner: a reference may name a UID under a kind that the object never had. */
export const questionKey = ({ gvk, uid }: Pick<OwnerQuestion, "gvk" | "uid">): string => `${gvk} ${uid}`

const listFields = new Message({ owners: [1, "manySpans"], rescan: [2, "bool"] })

/** `OwnerAnswer`, and of a question the first four. */
const ownerFields = new Message({
  ...({ uid: [1, "string"], gvk: [2, "string"], namespace: [3, "string"], name: [4, "string"] } as const),
  ...({ ownerReferences: [5, "bytes"], found: [6, "bool"], recorded: [7, "bool"] } as const),
})

const encode = (owners: ReadonlyArray<OwnerQuestion & Partial<OwnerAnswer>>, rescan: boolean): Uint8Array => {
  const writer = protobuf.Writer.create()
  for (const owner of owners) ownerFields.writeField(writer, listFields.tags.owners, owner)
  listFields.write(writer, { rescan })
  return writer.finish()
}

const decode = (bytes: Uint8Array): { readonly owners: ReadonlyArray<OwnerAnswer>; readonly rescan: boolean } => {
  const { owners = [], rescan = false } = listFields.read(readerOf(bytes))
  const answers = owners.map((span) => {
    const { uid = "", gvk = "", namespace = "", name = "", ...answer } = ownerFields.read(readerOf(bytes, span))
    const { ownerReferences = [], found = false, recorded = false } = answer
    // A copy: a frame's memory is reused once it is acknowledged.
    return { uid, gvk, namespace, name, ownerReferences: Uint8Array.from(ownerReferences), found, recorded }
  })
  return { owners: answers, rescan }
}

export const encodeOwnerQuestions = ({ questions, rescan }: OwnerQuestions): Uint8Array => encode(questions, rescan)

/** Throws RangeError or Error on malformed bytes; both ends are ours, so that is a crash. */
export const decodeOwnerQuestions = (bytes: Uint8Array): OwnerQuestions => {
  const { owners, rescan } = decode(bytes)
  return { questions: owners.map(({ uid, gvk, namespace, name }) => ({ uid, gvk, namespace, name })), rescan }
}

export const encodeOwnerAnswers = (answers: ReadonlyArray<OwnerAnswer>): Uint8Array => encode(answers, false)

/** Throws RangeError or Error on malformed bytes. */
export const decodeOwnerAnswers = (bytes: Uint8Array): ReadonlyArray<OwnerAnswer> => decode(bytes).owners
