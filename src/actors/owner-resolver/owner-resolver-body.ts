/**
 * The owner-resolver: looks up owners that the recording does not contain, by metadata-only GETs in its own thread.
 *
 * Ingest never waits for it: the store sends questions in one direction and takes answers in the other, and drops questions rather than
 * wait while this actor lags or is down. A new life reads the database and looks up what is still open.
 */
import * as Effect from "effect/Effect"
import type { Timer } from "../../clock.ts"
import { type ApiEndpoint, groupVersionPath, HttpClient } from "../../kube/index.ts"
import { parseGvk } from "../../kube/offline.ts"
import type { ActorBody } from "../../runtime/index.ts"
import { decodeOwnerQuestions, encodeOwnerAnswers, type OwnerAnswer, type OwnerQuestion } from "../../wire/index.ts"
import { ownerAnswersMailbox, ownerQuestionsMailbox } from "../names.ts"
import { openOwnershipGraph } from "./graph.ts"
import { OwnerLookUp } from "./look-up.ts"
import type { LookUpFailure } from "./look-up-queue.ts"
import {
  maximumNamed,
  type OwnerResolverConfig,
  type OwnerResolverControl,
  type OwnerResolverReport,
} from "./owner-resolver-interface.ts"
import { OwnerResolver } from "./resolver.ts"

// Decides which failures to log: each kind and status once, until a look-up of that kind succeeds again.

export class FailureAlarms {
  readonly #logged = new Map<string, number>()

  /** The line, or `undefined` if it was logged already. */
  failed(question: OwnerQuestion, failure: LookUpFailure): string | undefined {
    if (this.#logged.get(question.gvk) === failure.code) return undefined
    this.#logged.set(question.gvk, failure.code)
    return `owner ${question.gvk} ${question.namespace}/${question.name} cannot be looked up: ${failure.detail}${advice(question, failure)}`
  }

  answered(question: OwnerQuestion): void {
    this.#logged.delete(question.gvk)
  }
}

const advice = ({ gvk }: OwnerQuestion, { code }: LookUpFailure): string => {
  const parsed = parseGvk(gvk)
  if (code !== 403 || parsed === undefined) return ""
  const rule = `{apiGroups: ["${parsed.group}"], resources: [the resource of ${parsed.kind} in ${groupVersionPath(parsed)}], verbs: ["get"]}`
  return `; without it, objects owned through this kind cannot be recognised: add ${rule} to a role of this user`
}

/** ms that an answer may wait to be sent to the store together with others. */
const answerDelayMs = 20
/** ms for one response of the API server: a single object's metadata takes milliseconds, a loaded server a second. */
const lookUpDeadlineMs = 15_000

export const ownerResolverBody: ActorBody<OwnerResolverConfig, OwnerResolverControl, OwnerResolverReport> = (context) =>
  Effect.gen(function* () {
    const { clock, config } = context
    const client = yield* Effect.acquireRelease(
      Effect.sync(() => new HttpClient(config.endpoint, { userAgent: config.userAgent })),
      (open) => Effect.sync(() => open.close()),
    )
    const graph = yield* Effect.acquireRelease(
      Effect.sync(() => openOwnershipGraph(config.directory)),
      (open) => Effect.sync(() => open.close()),
    )
    const outbox = context.outbox(ownerAnswersMailbox)
    const alarms = new FailureAlarms()
    const lookUp = new OwnerLookUp(client, lookUpDeadlineMs, clock)
    const recordedKinds = new Set(config.recordedKinds)
    let gathered: Array<OwnerAnswer> = []
    let timer: Timer | undefined
    const sendAnswers = (): void => {
      timer?.cancel()
      timer = undefined
      if (gathered.length > 0) outbox.send(encodeOwnerAnswers(gathered))
      gathered = []
    }

    const resolver = yield* Effect.acquireRelease(
      Effect.sync(
        () =>
          new OwnerResolver({
            graph,
            ask: (question) => lookUp.ask(question),
            recordedKinds,
            clock,
            random: Math.random,
            limits: config.limits,
            listener: {
              answered: (answer) => {
                if (!answer.recorded) alarms.answered(answer)
                gathered.push(answer)
                timer ??= clock.after(answerDelayMs, sendAnswers)
              },
              failed: (question, failure) => {
                if (failure.code === 401) context.report({ type: "unauthorized" })
                const detail = alarms.failed(question, failure)
                if (detail !== undefined) context.report({ type: "alarm", detail })
              },
            },
          }),
      ),
      (running) =>
        Effect.sync(() => {
          running.close()
          sendAnswers()
        }),
    )

    const inbox = context.inbox(ownerQuestionsMailbox, {
      // Questions are not kept across lives: the database has them.
      attached: () => undefined,
      frame: (sender, frame) => {
        const { questions, rescan } = decodeOwnerQuestions(frame.payload)
        for (const question of questions) resolver.consider(question)
        if (rescan) resolver.rescan()
        inbox.acknowledge(sender, frame.incarnation, frame.number)
      },
    })
    resolver.rescan()

    return {
      credentials: (endpoint) =>
        Effect.sync(() => {
          client.updateEndpoint(endpoint as ApiEndpoint)
          resolver.retryNow()
        }),
      recordedKinds: (kinds) =>
        Effect.sync(() => {
          recordedKinds.clear()
          for (const gvk of kinds) recordedKinds.add(gvk)
          resolver.rescan()
        }),
      settle: ({ deadlineMs }) =>
        Effect.promise(async () => {
          const until = clock.monotonicMs() + deadlineMs
          const open = await resolver.settle(deadlineMs)
          sendAnswers()
          await committed(outbox.flushed(), Math.max(0, until - clock.monotonicMs()), (ms, action) =>
            clock.after(ms, action),
          )
          const first = open.slice(0, maximumNamed).map(({ gvk, namespace, name }) => ({ gvk, namespace, name }))
          return { unknown: open.length, first }
        }),
      statistics: () => Effect.sync(() => resolver.statistics),
    }
  })

/** Waits for the answers to be acknowledged, but no longer than the time left. */
const committed = (
  flushed: Promise<void>,
  leftMs: number,
  after: (ms: number, action: () => void) => Timer,
): Promise<void> =>
  new Promise((resolve) => {
    const timer = after(leftMs, resolve)
    void flushed.then(() => {
      timer.cancel()
      resolve()
    })
  })
