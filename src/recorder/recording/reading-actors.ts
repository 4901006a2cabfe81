/** The actors that only read a recording: the exporter and the reader, each spawned on its first use. */

import * as Effect from "effect/Effect"
import {
  type ExporterConfig,
  exporterDefinition,
  exporterName,
  readerDefinition,
  readerName,
} from "../../actors/index.ts"
import type { Clock } from "../../clock.ts"
import type { ActorSystem, RestartPolicy, StartThread } from "../../runtime/index.ts"
import { makeReaderService } from "../export/reader-service.ts"
import { ExportService } from "../export/service.ts"
import { counter } from "./recording-base.ts"

interface ReadingActorsOptions {
  readonly config: ExporterConfig
  readonly worker: (role: "exporter" | "reader") => StartThread
  readonly restart: RestartPolicy
  readonly told: (name: string) => (state: string, reason: string) => void
  readonly clock: Clock
}

/** If one keeps crashing, it is restarted for ever, because only its own clients are affected. */
export const readingActors = (system: ActorSystem, { config, worker, restart, told, clock }: ReadingActorsOptions) => {
  const patient = { ...restart, maximumCrashes: Number.POSITIVE_INFINITY }
  const exports = new ExportService(system, () =>
    system.spawn({
      definition: exporterDefinition,
      name: exporterName,
      start: worker("exporter"),
      config: () => config,
      incarnation: counter(),
      restart: patient,
      onStateChange: told(exporterName),
    }),
  )
  const readerIncarnation = counter()
  const spawnReader = () =>
    system.spawn({
      definition: readerDefinition,
      name: readerName,
      start: worker("reader"),
      config: () => config,
      incarnation: readerIncarnation,
      restart: patient,
      onStateChange: told(readerName),
    })
  return Effect.map(makeReaderService(system, spawnReader, clock), (reader) => ({ exports, reader }))
}
