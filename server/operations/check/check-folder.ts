import { accessSync, constants, existsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Config } from '../../config/settings.ts'
import { checkDisk } from './check-disk.ts'
import { type CheckResult, failed, ok } from './check-result.ts'

/** Whether the data folder, or the folder that it would be created in, can be written, and its disk. */
export async function checkFolder(config: Config): Promise<CheckResult[]> {
  const { data: folder, diskReserve: reserve, databaseUrl, blobsUrl } = config
  const storesFiles = databaseUrl === '' || blobsUrl === ''
  const name = 'data folder'
  let existing = folder
  while (!existsSync(existing)) existing = dirname(existing)
  if (!isWritableFolder(existing)) {
    const message = `SLIPWAY_DATA: ${existing} is not a folder that the user of this process can write to`
    return [failed(name, message)]
  }
  const found = existing === folder ? folder : `${folder} can be created`
  return [ok(name, found), ...(await checkDisk(existing, { reserve, storesFiles }))]
}

function isWritableFolder(path: string): boolean {
  try {
    accessSync(path, constants.W_OK)
    return statSync(path).isDirectory()
  } catch {
    return false
  }
}
