/** What WASI preview 1 consists of, as the binary format tells it: `wasi_snapshot_preview1` of the WASI repository's witx files. */
import type { Signature } from "../wasm/wasm-module.ts"

export const wasiModule = "wasi_snapshot_preview1"

/** All functions with their parameters; all but `proc_exit` return an i32, the error number. */
const parameters = {
  args_get: "ii",
  args_sizes_get: "ii",
  environ_get: "ii",
  environ_sizes_get: "ii",
  clock_res_get: "ii",
  clock_time_get: "iIi",
  fd_advise: "iIIi",
  fd_allocate: "iII",
  fd_close: "i",
  fd_datasync: "i",
  fd_fdstat_get: "ii",
  fd_fdstat_set_flags: "ii",
  fd_fdstat_set_rights: "iII",
  fd_filestat_get: "ii",
  fd_filestat_set_size: "iI",
  fd_filestat_set_times: "iIIi",
  fd_pread: "iiiIi",
  fd_prestat_get: "ii",
  fd_prestat_dir_name: "iii",
  fd_pwrite: "iiiIi",
  fd_read: "iiii",
  fd_readdir: "iiiIi",
  fd_renumber: "ii",
  fd_seek: "iIii",
  fd_sync: "i",
  fd_tell: "ii",
  fd_write: "iiii",
  path_create_directory: "iii",
  path_filestat_get: "iiiii",
  path_filestat_set_times: "iiiiIIi",
  path_link: "iiiiiii",
  path_open: "iiiiiIIii",
  path_readlink: "iiiiii",
  path_remove_directory: "iii",
  path_rename: "iiiiii",
  path_symlink: "iiiii",
  path_unlink_file: "iii",
  poll_oneoff: "iiii",
  proc_exit: "i",
  proc_raise: "i",
  sched_yield: "",
  random_get: "ii",
  sock_accept: "iii",
  sock_recv: "iiiiii",
  sock_send: "iiiii",
  sock_shutdown: "ii",
} as const

export type WasiFunction = keyof typeof parameters

export const wasiFunctions = Object.keys(parameters) as ReadonlyArray<WasiFunction>

export const wasiSignatures: ReadonlyMap<string, Signature> = new Map(
  Object.entries(parameters).map(([name, letters]) => [name, name === "proc_exit" ? `${letters}>` : `${letters}>i`]),
)

/** Error numbers of WASI preview 1. */
export const errno = {
  success: 0,
  badFile: 8,
  fault: 21,
  invalid: 28,
  notSupported: 52,
  notSeekable: 70,
} as const
