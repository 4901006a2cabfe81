/**
 * Keeps young generations as small in the main thread, which has no `resourceLimits`, as they are in workers.
 *
 * V8 doubles a young generation, up to 16 MiB for each of its halves, whenever more survives in it than it had room for, and hardly ever gives that back. The main thread of
 * a recorder supervises and serves HTTP: all that survives there is what a start leaves behind, the more the more kinds there are.
 */
import { setFlagsFromString } from "node:v8"

/**
 * From now on, no young generation of this process grows: each stays at halves of 1 MiB, or at the size that it has now. To be called before the process has much memory.
 *
 * V8 reads this flag before each growth. The one that bounds the size, `--max-semi-space-size`, counts only on the command line.
 */
export const keepYoungGenerationsSmall = (): void => setFlagsFromString("--semi-space-growth-factor=1")
