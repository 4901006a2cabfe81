/** A file system of its own for a test, on a loop device. It needs Linux, root, mkfs.ext4 and a kernel that lets it mount. */
import { execFileSync } from "node:child_process"
import { mkdirSync, truncateSync, writeFileSync } from "node:fs"
import { join } from "node:path"

/** Why tests on a device are skipped; `undefined` if they can run. */
export const noLoopDevice = (): string | undefined => {
  if (process.platform !== "linux") return "loop devices need Linux"
  if (process.getuid?.() !== 0) return "loop devices need root"
  try {
    execFileSync("losetup", ["--find"], { stdio: "ignore" })
    execFileSync("mkfs.ext4", ["-V"], { stdio: "ignore" })
    return undefined
  } catch {
    return "loop devices need losetup, mkfs.ext4 and a kernel that offers them"
  }
}

export class LoopDevice {
  readonly path: string

  /** `directory`: for the image and the mount point. `features`: of mkfs.ext4. */
  constructor(directory: string, bytes: number, features: ReadonlyArray<string> = []) {
    const image = join(directory, "device.img")
    this.path = join(directory, "device")
    writeFileSync(image, "")
    truncateSync(image, bytes)
    execFileSync("mkfs.ext4", ["-q", "-m", "0", ...features, image])
    mkdirSync(this.path)
    execFileSync("mount", ["-o", "loop", image, this.path])
  }

  /** Makes each write wait until it is called with `false`. */
  freeze(isFrozen: boolean): void {
    execFileSync("fsfreeze", [isFrozen ? "--freeze" : "--unfreeze", this.path])
  }

  setReadOnly(isReadOnly: boolean): void {
    execFileSync("mount", ["-o", `remount,${isReadOnly ? "ro" : "rw"}`, this.path])
  }

  [Symbol.dispose](): void {
    execFileSync("umount", ["--lazy", this.path])
  }
}
