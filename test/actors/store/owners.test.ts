/** The store between a watcher and an owner-resolver, both simplified: questions follow commits, and answers are stored exactly once. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Effect from "effect/Effect"
import { expect, test } from "vitest"
import {
  observationsMailbox,
  ownerAnswersMailbox,
  ownerQuestionsMailbox,
  ownerResolverName,
  storedStateMailbox,
  storeName,
} from "../../../src/actors/names.ts"
import { storeDefinition } from "../../../src/actors/store/store-interface.ts"
import { ArchiveReader } from "../../../src/archive/index.ts"
import { systemClock } from "../../../src/clock.ts"
import {
  type ActorBody,
  ActorSystem,
  defaultRestartPolicy,
  localThread,
  workerThread,
} from "../../../src/runtime/index.ts"
import {
  decodeOwnerQuestions,
  encodeOwnerAnswers,
  ObservationsBuilder,
  type OwnerQuestion,
} from "../../../src/wire/index.ts"
import { patient } from "../../harness/patience.ts"

const restart = { ...defaultRestartPolicy, backOff: { ...defaultRestartPolicy.backOff, initialMs: 1 } }
const watcherName = "watcher v1.Pod"
const pods = 500
const owner = (index: number) => [
  { apiVersion: "apps/v1", kind: "ReplicaSet", name: `rs-${index}`, uid: `rs-${index}` },
]
const above = JSON.stringify([{ apiVersion: "apps/v1", kind: "Deployment", name: "web", uid: "web" }])

type Nothing = Record<string, never>

/** Names a pod per frame, each with its own owner. */
const watcherBody: ActorBody<number, Nothing, never> = (context) =>
  Effect.sync(() => {
    const outbox = context.outbox(observationsMailbox)
    const builder = new ObservationsBuilder("v1.Pod")
    for (let number = 1; number <= pods; number++) {
      builder.begin(outbox.reserve(4096), 0)
      const ownerReferences = Buffer.from(JSON.stringify(owner(number)))
      builder.addObject({ number, uid: `pod-${number}`, namespace: "shop", name: `pod-${number}`, ownerReferences })
      outbox.commit(builder.finish())
    }
    const inbox = context.inbox(storedStateMailbox(context.name), {
      attached: () => undefined,
      frame: (sender, frame) => inbox.acknowledge(sender, frame.incarnation, frame.number),
    })
    return {}
  })

/** Answers at once, and says that every fifth is gone. */
const resolverBody =
  (questions: Array<OwnerQuestion>, rescanned: () => void): ActorBody<number, Nothing, never> =>
  (context) =>
    Effect.sync(() => {
      const outbox = context.outbox(ownerAnswersMailbox)
      const inbox = context.inbox(ownerQuestionsMailbox, {
        attached: () => undefined,
        frame: (sender, frame) => {
          const { questions: asked, rescan } = decodeOwnerQuestions(frame.payload)
          if (rescan) rescanned()
          questions.push(...asked)
          const answers = asked.map((question) => {
            const found = !question.uid.endsWith("5")
            return { ...question, ownerReferences: Buffer.from(found ? above : ""), found, recorded: false }
          })
          if (answers.length > 0) outbox.send(encodeOwnerAnswers(answers))
          inbox.acknowledge(sender, frame.incarnation, frame.number)
        },
      })
      return {}
    })

const replicaSet = { apiVersion: "apps/v1", kind: "ReplicaSet" }
const pod = { apiVersion: "v1", kind: "Pod" }

test("every owner is looked up, and every result is on disk, even if the store is killed meanwhile", async () => {
  const directory = mkdtempSync(join(tmpdir(), "kubereel-owners-"))
  const system = new ActorSystem()
  const questions: Array<OwnerQuestion> = []
  let lives = 0
  let rescans = 0
  try {
    const store = system.spawn({
      definition: storeDefinition,
      name: storeName,
      start: workerThread(new URL("../../../src/actors/entries/store.ts", import.meta.url), {
        oldGenerationMb: 512,
        youngGenerationMb: 3,
      }),
      config: () => ({
        directory,
        fsync: "interval" as const,
        watchers: [{ name: watcherName, gvk: "v1.Pod", tracksPods: false }],
        asksOwners: true,
        recordedKinds: [],
      }),
      incarnation: () => ++lives,
      restart,
    })
    const toy = (name: string, body: ActorBody<number, Nothing, never>) => {
      const definition = { role: "toy", control: {} as Nothing }
      return system.spawn({
        definition,
        name,
        start: localThread(definition, body, systemClock),
        config: () => 0,
        incarnation: () => Effect.runPromise(Effect.andThen(store.running(), store.call("nextIncarnation", name))),
        restart,
      })
    }
    await Effect.runPromise(store.running())
    const resolver = toy(
      ownerResolverName,
      resolverBody(questions, () => rescans++),
    )
    const watcher = toy(watcherName, watcherBody)
    system.link(observationsMailbox, watcher, store)
    system.link(storedStateMailbox(watcherName), store, watcher, "upstream")
    system.link(ownerQuestionsMailbox, store, resolver, "upstream")
    system.link(ownerAnswersMailbox, resolver, store)
    for (let kill = 0; kill < 3; kill++) {
      await until(() => rescans > kill && questions.length > 0)
      await store.kill()
      await Effect.runPromise(store.running())
    }
    const reader = ArchiveReader.open(directory)
    const known = (): number => {
      const uids = Array.from({ length: pods }, (_, index) => `rs-${index + 1}`)
      return uids.filter((uid) => reader.ownersOf({ ...replicaSet, uid }) !== undefined).length
    }
    // Questions in flight die with the store: its next life says that they are to be read in the database.
    await until(() => rescans === 4)
    await until(
      () =>
        new Set(questions.map(({ uid }) => uid)).size === known() &&
        reader.ownersOf({ ...pod, uid: `pod-${pods}` }) !== undefined,
    )
    expect(known()).toBeGreaterThan(0)
    for (const { uid } of questions) {
      const found = !uid.endsWith("5")
      expect(reader.ownersOf({ ...replicaSet, uid })).toEqual({
        gvk: undefined,
        namespace: "shop",
        name: uid,
        ownerReferences: found
          ? [{ apiVersion: "apps/v1", kind: "Deployment", name: "web", uid: "web", controller: false }]
          : [],
        source: found ? "learnt" : "gone",
      })
    }
    expect(reader.ownersOf({ ...pod, uid: "pod-7" })).toMatchObject({
      source: "recorded",
      ownerReferences: [{ uid: "rs-7" }],
    })
    reader.close()
  } finally {
    await system.stop()
    rmSync(directory, { recursive: true, force: true })
  }
})

/** Polls for an effect of other actors. */
const until = async (condition: () => boolean): Promise<void> => {
  const deadline = performance.now() + patient(10_000)
  while (!condition()) {
    if (performance.now() > deadline) throw new Error("waited in vain")
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}
