import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Api } from './api.ts'

let emails = 0
export const newEmail = () => `user${++emails}@example.org`

/** Requests a code and returns it from the mail. */
export async function codeFor(api: Api, email: string): Promise<string> {
  await api.anonymous.requestCode(email)
  return api.running.mailedCode(email)
}

/** The mails to an address, oldest first. */
export async function mailsTo(api: Api, email: string): Promise<string[]> {
  const folder = join(api.data, 'mail')
  const names = await readdir(folder).catch(() => [])
  const number = (name: string) => Number(/-(\d+)\.eml$/.exec(name)![1])
  names.sort((one, other) => number(one) - number(other))
  const mails = await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')))
  return mails.filter((mail) => mail.includes(`To: ${email}`))
}
