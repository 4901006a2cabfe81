/** The pins of a recording in a directory, without a recorder. */
import { type Pin, pinRecording, readPins, readRecordingFacts, removePin } from "../../archive/index.ts"
import { pinJson } from "../../recorder/index.ts"
import type { KeptPins } from "./kept-pins.ts"

/** Throws an ArchiveError. */
export const pinsInDirectory = (directory: string): KeptPins => {
  const described = (pin: Pin) => ({ pin: pinJson(pin), answer: pinJson(pin) })
  return {
    now: readRecordingFacts(directory).lastTime,
    pageOf: () => undefined,
    list: async () => readPins(directory).map(described),
    add: async (request) => described(pinRecording(directory, { ...request, source: "command" })),
    remove: async (id) => removePin(directory, id),
  }
}
