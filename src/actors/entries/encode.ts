/**
 * What the threads of the exporter's pool run: piscina calls the default export once per batch. Stateless; a thread that
 * ends takes one batch with it and nothing else.
 */
import { move, transferableSymbol, valueSymbol } from "piscina"
import { encodeSimkubeBatch, type SimkubeBatch } from "../../trace/formats/simkube/simkube-batch.ts"

/** The encoded batch. Its memory is handed over, not copied; as a rule it is the memory that the batch came in. */
export default (batch: SimkubeBatch): unknown => {
  const encoded = encodeSimkubeBatch(batch)
  return move({ [transferableSymbol]: [encoded.objects.buffer], [valueSymbol]: encoded })
}
