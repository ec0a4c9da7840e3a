import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Ballast } from '../blobs/disk-reserve.ts'
import { toStorageError } from '../lib/errors.ts'
import { type Log, maskEmail } from '../lib/log.ts'
import { makeFolder } from '../lib/make-folder.ts'
import { buildMessage, type Mail, type ShowCode } from './mail.ts'

interface FolderMailOptions {
  folder: string
  from: string
  log: Log
  showCode: ShowCode
  clock: () => number
  /** Space for emails on a full disk. */
  ballast?: Pick<Ballast, 'retry'> | undefined
}

/** Stores each email as an `.eml` file and shows its code to the operator: for machines without a mail server. */
export function folderMail(options: FolderMailOptions): Mail {
  const { ballast } = options
  let emails = 0
  return {
    delivery: 'log',
    async send(email) {
      const { code, kind } = email
      const message = await buildMessage(email, options.from)
      const time = new Date(options.clock()).toISOString().replaceAll(':', '-')
      const file = join(options.folder, `${time}-${process.pid}-${++emails}.eml`)
      const write = async () => {
        makeFolder(options.folder, 0o700)
        await writeFile(file, message, { mode: 0o600 })
      }
      try {
        await (ballast ? ballast.retry(write, (error) => toStorageError(error) !== undefined) : write())
      } catch (error) {
        throw toStorageError(error) ?? error
      }
      options.log.info('email written to a file', { kind, to: maskEmail(email.to), file })
      if (code) options.showCode({ email: email.to, code })
    },
  }
}
