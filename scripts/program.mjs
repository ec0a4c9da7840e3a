import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

/**
 * The path of a program, searched in PATH and the folders of system programs; undefined when it is missing.
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
