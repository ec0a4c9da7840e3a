import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Api } from './api.ts'

let people = 0
export const somebody = () => `somebody${++people}@example.org`

/** A code that was mailed to an address a moment ago. */
export async function codeFor(api: Api, email: string): Promise<string> {
  await api.anonymous.requestCode(email)
  return api.running.mailedCode(email)
}

/** The letters to an address, oldest first. */
export async function lettersTo(api: Api, email: string): Promise<string[]> {
  const folder = join(api.data, 'mail')
  const names = await readdir(folder).catch(() => [])
  const number = (name: string) => Number(/-(\d+)\.eml$/.exec(name)![1])
  names.sort((one, other) => number(one) - number(other))
  const letters = await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')))
  return letters.filter((letter) => letter.includes(`To: ${email}`))
}
