import { rmSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { atExit } from './exit.ts'

/** Deleted with its contents by its disposal, or at the exit of this process. */
export interface TemporaryFolder extends AsyncDisposable {
  path: string
}

/** Processes that were killed may still write for a moment. */
const DELETE = { recursive: true, force: true, maxRetries: 3 }

/** Creates a folder whose name begins with this prefix. */
export async function temporaryFolder(prefix: string, parent = tmpdir()): Promise<TemporaryFolder> {
  const path = await mkdtemp(join(parent, prefix))
  const cancelDelete = atExit(() => rmSync(path, DELETE))
  return {
    path,
    async [Symbol.asyncDispose]() {
      cancelDelete()
      await rm(path, DELETE)
    },
  }
}
