/** The frames of `proto/owners.proto`. Rare (one per batch of new owners), so protobufjs's plain reader and writer are fast enough. */
import protobuf from "protobufjs/minimal.js"

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

export const encodeOwnerQuestions = ({ questions, rescan }: OwnerQuestions): Uint8Array => {
  const writer = protobuf.Writer.create()
  for (const question of questions) {
    writer.uint32(10).fork()
    writeQuestion(writer, question)
    writer.ldelim()
  }
  if (rescan) writer.uint32(16).bool(true)
  return writer.finish()
}

/** Throws RangeError on malformed bytes; both ends are ours, so that is a crash. */
export const decodeOwnerQuestions = (bytes: Uint8Array): OwnerQuestions => {
  const reader = protobuf.Reader.create(bytes)
  const questions: Array<OwnerQuestion> = []
  let rescan = false
  while (reader.pos < reader.len) {
    const field = reader.uint32()
    if (field === 10) {
      const { ownerReferences: _none, found: _unused, recorded: _too, ...question } = readAnswer(reader)
      questions.push(question)
    } else if (field === 16) rescan = reader.bool()
    else reader.skipType(field & 7)
  }
  return { questions, rescan }
}

export const encodeOwnerAnswers = (answers: ReadonlyArray<OwnerAnswer>): Uint8Array => {
  const writer = protobuf.Writer.create()
  for (const answer of answers) {
    writer.uint32(10).fork()
    writeQuestion(writer, answer)
    if (answer.ownerReferences.length > 0) writer.uint32(42).bytes(answer.ownerReferences)
    if (answer.found) writer.uint32(48).bool(true)
    if (answer.recorded) writer.uint32(56).bool(true)
    writer.ldelim()
  }
  return writer.finish()
}

/** Throws RangeError on malformed bytes. */
export const decodeOwnerAnswers = (bytes: Uint8Array): ReadonlyArray<OwnerAnswer> => {
  const reader = protobuf.Reader.create(bytes)
  const answers: Array<OwnerAnswer> = []
  while (reader.pos < reader.len) {
    const field = reader.uint32()
    if (field === 10) answers.push(readAnswer(reader))
    else reader.skipType(field & 7)
  }
  return answers
}

const writeQuestion = (writer: protobuf.Writer, { uid, gvk, namespace, name }: OwnerQuestion): void => {
  writer.uint32(10).string(uid)
  writer.uint32(18).string(gvk)
  if (namespace !== "") writer.uint32(26).string(namespace)
  writer.uint32(34).string(name)
}

const readAnswer = (reader: protobuf.Reader): OwnerAnswer => {
  const end = reader.uint32() + reader.pos
  let uid = ""
  let gvk = ""
  let namespace = ""
  let name = ""
  let ownerReferences: Uint8Array = new Uint8Array(0)
  let found = false
  let recorded = false
  while (reader.pos < end) {
    const field = reader.uint32()
    if (field === 10) uid = reader.string()
    else if (field === 18) gvk = reader.string()
    else if (field === 26) namespace = reader.string()
    else if (field === 34) name = reader.string()
    // A copy: a frame's memory is reused once it is acknowledged.
    else if (field === 42) ownerReferences = Uint8Array.from(reader.bytes())
    else if (field === 48) found = reader.bool()
    else if (field === 56) recorded = reader.bool()
    else reader.skipType(field & 7)
  }
  return { uid, gvk, namespace, name, ownerReferences, found, recorded }
}
