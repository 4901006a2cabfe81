/** Code of the threads that run a program: piscina calls the default export once per batch. Stateless but for the program that it ran last. */
import { move, transferableSymbol, valueSymbol } from "piscina"
import { type ObjectBatch, runBatch } from "../object-batch.ts"

/** The batch after the program. The memory of its objects is transferred, not copied. */
export default (batch: ObjectBatch): unknown => {
  const transformed = runBatch(batch)
  return move({ [transferableSymbol]: [transformed.objects.buffer], [valueSymbol]: transformed })
}
