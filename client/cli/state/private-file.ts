import { randomUUID } from 'node:crypto'
import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { CliError } from '../cli-error.ts'

/** The JSON in a file, or undefined when the file does not exist. */
export function readPrivate(file: string): unknown {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
  try {
    return JSON.parse(text)
  } catch {
    throw invalidFile(file, 'is not valid JSON')
  }
}

/** The error of a file that the program wrote and cannot read. */
export function invalidFile(file: string, problem: string): CliError {
  return new CliError(`${file} ${problem}`, 'Repair the file, or delete it to start over.')
}

/** Atomically replaces a file by this JSON, with mode 0600 in a folder with mode 0700. */
export function writePrivate(file: string, value: unknown): void {
  writePrivateText(file, `${JSON.stringify(value, undefined, 2)}\n`)
}

/** The same with this text. A link in place of the file is replaced. */
export function writePrivateText(file: string, text: string): void {
  const folder = dirname(file)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  chmodSync(folder, 0o700)
  const fresh = `${file}.${randomUUID()}`
  try {
    writeFileSync(fresh, text, { mode: 0o600, flag: 'wx' })
    renameSync(fresh, file)
  } finally {
    rmSync(fresh, { force: true })
  }
}
