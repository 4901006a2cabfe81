/** Webhooks of the controllers that are rehearsed: registered in the sandbox as a host would, and answered in this thread. */
import {
  type AdmissionCall,
  type AdmissionTerms,
  answerReview,
  configurationKinds,
  configurationOf,
} from "../../host/index.ts"
import type { KindedObject } from "../../sandbox/index.ts"
import type { Participant } from "../cast/participant.ts"
import { guessedKind } from "../feed/feed-rule.ts"

const ownHost = "rehearsal"

/** Answers what is asked of one of the participants, those of the present; `undefined` for other webhooks, which the seed may have and which are called. */
export const answerOwn =
  (participants: () => ReadonlyArray<Participant>) =>
  (
    { hostname, pathname }: URL,
    body: Parameters<typeof answerReview>[0],
  ): ReturnType<typeof answerReview> | undefined => {
    if (hostname !== ownHost) return undefined
    const [, name, call] = pathname.split("/")
    const asked = participants().find((one) => one.name === name)
    return answerReview(body, async (request) => {
      // The failure policy decides, as while a host is down.
      if (asked?.review === undefined) throw new Error(`there is no controller ${name}`)
      return asked.review(call as AdmissionCall, request)
    })
  }

/** The configurations of a controller, at an address of this process. */
export const configurationsOf = (terms: AdmissionTerms): ReadonlyArray<KindedObject> =>
  (["validate", "mutate"] as const)
    .filter((call) => terms.calls.includes(call))
    .map((call) => {
      const kinds = terms.kinds.flatMap((kind) => guessedKind(kind, true) ?? [])
      const url = `https://${ownHost}/${terms.controller}/${call}`
      return {
        gvk: configurationKinds[call].gvk,
        object: configurationOf(call, terms, {}, kinds, { url }) as KindedObject["object"],
      }
    })
