/** The window of a pin as a place to export from: its copy or, before it has one, the recording. */
import { pinDirectory } from "../../recorder/index.ts"
import { visible } from "../../text/index.ts"
import type { CommandTerminal } from "../command-line/command.ts"
import { CommandFailed } from "../command-line/exit-codes.ts"
import { type OpenPlace, openPlace, type PlaceOptions } from "../export/connection/recorder-place.ts"
import { openPins } from "./kept-pins.ts"

interface PinnedWindow {
  /** Close it afterwards. */
  readonly place: OpenPlace
  /** RFC 3339; the end is exclusive. */
  readonly start: string
  readonly end: string
}

/** Rejects with an ExportError or an ArchiveError, or with CommandFailed if there is no such pin. */
export const openPinnedWindow = async (
  options: PlaceOptions,
  id: string,
  terminal: CommandTerminal,
  signal: AbortSignal,
): Promise<PinnedWindow> => {
  const { dataDir } = options
  const listed = await (await openPins(options, terminal, 0, signal)).list()
  const pin = listed.find((each) => each.pin.id === id)?.pin
  if (pin === undefined) throw new CommandFailed(`there is no pin ${visible(id)}; reel pins lists them`)
  const { from: start, until: end, bytes } = pin
  if (dataDir !== undefined) {
    const directory = bytes > 0 ? pinDirectory(dataDir, id) : dataDir
    return { place: await openPlace({ ...options, dataDir: directory }, terminal, terminal.say, signal), start, end }
  }
  const place = await openPlace(options, terminal, terminal.say, signal)
  // A recorder answers below a pin from where its window is.
  const url = new URL(place.recorder.url)
  url.pathname = url.pathname.replace(/export$/, `pins/${encodeURIComponent(id)}/export`)
  return { place: { ...place, recorder: { ...place.recorder, url } }, start, end }
}
