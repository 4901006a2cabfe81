/** The message in which a container says why it ended. */
import { stat, writeFile } from "node:fs/promises"
import { messageOf } from "../../message-of.ts"

/** Where the kubelet looks if the pod does not say. */
const usualPath = "/dev/termination-log"

/** Writes the message if there is a kubelet to read it, or `KUBEREEL_TERMINATION_LOG` names a file. Never rejects: the log has the message as well. */
export const leaveMessage = async (
  message: string,
  { KUBEREEL_TERMINATION_LOG: path }: Readonly<Record<string, string | undefined>>,
  say: (line: string) => void,
): Promise<void> => {
  try {
    // The kubelet makes the file. Elsewhere there is none, and none is needed.
    if (path === undefined && !(await isThere(usualPath))) return
    await writeFile(path ?? usualPath, message)
  } catch (error) {
    say(`the termination message was not written: ${messageOf(error)}`)
  }
}

const isThere = (path: string): Promise<boolean> =>
  stat(path).then(
    (status) => status.isFile(),
    () => false,
  )
