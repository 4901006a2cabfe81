/**
 * Code of the exporter's encoding threads: piscina calls the default export once per batch. Stateless, so a thread that ends loses one
 * batch and nothing else.
 */
import { move, transferableSymbol, valueSymbol } from "piscina"
import { encodeSimkubeBatch, type SimkubeBatch } from "../../trace/formats/simkube/simkube-batch.ts"

/** The encoded batch. Its memory is transferred, not copied; usually it is the memory of the incoming batch. */
export default (batch: SimkubeBatch): unknown => {
  const encoded = encodeSimkubeBatch(batch)
  return move({ [transferableSymbol]: [encoded.objects.buffer], [valueSymbol]: encoded })
}
