import { accessSync, constants, readdirSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** Debian keeps the server programs of PostgreSQL here, in a folder for each version. */
const POSTGRES_FOLDER = '/usr/lib/postgresql'

/**
 * The path of a program, searched in PATH, the folders of system programs and that of the newest PostgreSQL; undefined
 * when it is missing.
 *
 * @param {string} name
 */
export function program(name) {
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/sbin', ...postgresFolders()]
  return folders.map((folder) => join(folder, name)).find(isProgram)
}

/** @param {string} path */
function isProgram(path) {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

function postgresFolders() {
  try {
    const versions = readdirSync(POSTGRES_FOLDER).sort((one, other) => Number(other) - Number(one))
    return versions.map((version) => join(POSTGRES_FOLDER, version, 'bin'))
  } catch {
    return []
  }
}
