import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

/**
 * The path of a program, looked for where root's programs live too; undefined when it is not there.
 *
 * @param {string} name
 */
export function program(name) {
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/sbin']
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
